import type { ComponentProps } from "react";

// A part of the page that scrolls by itself and holds nothing to click could not be read on by keyboard otherwise.
const REACHABLE = { tabIndex: 0 } as const;

export function ScrollRegion({ label, ...rest }: { readonly label: string } & Omit<ComponentProps<"section">, "aria-label">) {
  return <section aria-label={label} {...REACHABLE} {...rest} />;
}
