import { type ReactNode, useId, useState } from "react";
import { InfoIcon } from "./icons.tsx";

/** What is behind a statement, folded away until it is asked for. */
export function Info({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  return (
    <>
      <button
        type="button"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
        className="inline-flex cursor-pointer items-center gap-1 rounded px-1 text-[12px] text-soft hover:text-ink"
      >
        {label}
        <InfoIcon />
      </button>
      <div id={id} hidden={!open} className="basis-full rounded-md bg-raised px-3 py-2 text-[13px] text-soft">
        {open && children}
      </div>
    </>
  );
}
