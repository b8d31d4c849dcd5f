import type { ComponentProps } from "react";

// A part of the page that scrolls by itself and holds nothing to click could not be read on by keyboard otherwise.
const REACHABLE = { tabIndex: 0 } as const;

export function ScrollRegion({
  label,
  className = "",
  ...rest
}: { readonly label: string } & Omit<ComponentProps<"section">, "aria-label">) {
  // Positioned, so that what is there for screen readers alone is cut off with the rest and does not make the page wider.
  return <section aria-label={label} {...REACHABLE} {...rest} className={`relative ${className}`} />;
}
