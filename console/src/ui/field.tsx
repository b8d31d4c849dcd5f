import { type ReactNode, useId } from "react";

export const inputClass =
  "w-full rounded-md border border-line bg-ground px-2.5 py-1.5 text-[14px] text-ink placeholder:text-soft hover:border-soft";

/** A named input with what is to be known about it. `render` gets the ids that tie them together. */
export function Field({
  label,
  hint,
  required = false,
  render,
}: {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly required?: boolean;
  readonly render: (ids: { readonly id: string; readonly "aria-describedby": string | undefined }) => ReactNode;
}) {
  const id = useId();
  const about = hint === undefined ? undefined : `${id}-hint`;
  return (
    <div className="mb-3">
      <label htmlFor={id} className="mb-1 block text-[13px] font-medium">
        {label}
        {required && <span className="ml-1 text-needs"> (needed)</span>}
      </label>
      {render({ id, "aria-describedby": about })}
      {hint !== undefined && (
        <p id={about} className="mt-1 text-[12px] leading-snug text-soft">
          {hint}
        </p>
      )}
    </div>
  );
}

export interface Option<T extends string> {
  readonly value: T;
  readonly label: string;
  readonly hint?: string;
}

/** One of a few, all of them in sight. */
export function Choice<T extends string>({
  legend,
  options,
  value,
  required = false,
  onChange,
}: {
  readonly legend: string;
  readonly options: readonly Option<T>[];
  readonly value: T | null;
  readonly required?: boolean;
  readonly onChange: (value: T) => void;
}) {
  const name = useId();
  return (
    <fieldset className="mb-3">
      <legend className="mb-1 text-[13px] font-medium">
        {legend}
        {required && <span className="ml-1 text-needs"> (needed)</span>}
      </legend>
      {options.map((option) => (
        <label key={option.value} className="flex cursor-pointer items-start gap-2 rounded-md px-1 py-1 hover:bg-raised">
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={value === option.value}
            onChange={() => onChange(option.value)}
            className="mt-1 accent-accent"
          />
          <span>
            <span className="block">{option.label}</span>
            {option.hint !== undefined && <span className="block text-[12px] leading-snug text-soft">{option.hint}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

export function Check({
  label,
  hint,
  checked,
  onChange,
}: {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}) {
  return (
    <label className="flex cursor-pointer items-start gap-2 rounded-md px-1 py-1 hover:bg-raised">
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange(event.target.checked)}
        className="mt-1 accent-accent"
      />
      <span className="min-w-0">
        <span className="block break-words">{label}</span>
        {hint !== undefined && <span className="block text-[12px] leading-snug text-soft">{hint}</span>}
      </span>
    </label>
  );
}
