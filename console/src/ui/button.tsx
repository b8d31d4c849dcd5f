import type { ButtonHTMLAttributes } from "react";

const LOOKS = {
  primary: "border-accent bg-accent text-accent-ink hover:opacity-90",
  plain: "border-line bg-ground text-ink hover:bg-raised hover:border-soft",
  danger: "border-bad bg-ground text-bad hover:bg-bad hover:text-ground",
  quiet: "border-transparent text-soft hover:bg-raised hover:text-ink",
} as const;

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: keyof typeof LOOKS;
  /** Whether a long label takes several lines; otherwise there has to be room for it. */
  readonly wraps?: boolean;
}

export function Button({ look = "plain", wraps = false, className = "", ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={`inline-flex shrink-0 cursor-pointer items-center justify-center gap-1.5 rounded-md border px-2.5 text-[13px] font-medium disabled:cursor-default disabled:opacity-55 ${wraps ? "min-h-7 py-1 text-left leading-snug" : "h-7 whitespace-nowrap leading-none"} ${LOOKS[look]} ${className}`}
    />
  );
}
