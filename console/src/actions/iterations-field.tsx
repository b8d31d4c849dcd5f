import { MAX_ITERATIONS_PER_CALL } from "../../../src/run/grant.ts";
import { Field, inputClass } from "../ui/field.tsx";

/** How many iterations are added to a ceiling, as typed. */
export function IterationsField({
  value,
  hint,
  required = false,
  onChange,
}: {
  readonly value: string;
  readonly hint: string;
  readonly required?: boolean;
  readonly onChange: (text: string) => void;
}) {
  return (
    <Field
      label="Iterations to add"
      required={required}
      hint={hint}
      render={(ids) => (
        <input
          {...ids}
          type="number"
          inputMode="numeric"
          min={1}
          max={MAX_ITERATIONS_PER_CALL}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          className={`${inputClass} max-w-32`}
        />
      )}
    />
  );
}
