import type { ReactNode } from "react";

/** A designed state of a whole part of a page: empty, missing, refused. */
export function Notice({
  title,
  children,
  action,
  alert = false,
}: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
  readonly alert?: boolean;
}) {
  return (
    <div
      {...(alert ? { role: "alert" } : {})}
      className="mx-auto my-16 max-w-lg rounded-lg border border-line bg-raised px-6 py-5"
    >
      <h1 className="text-[16px] font-semibold">{title}</h1>
      <div className="mt-1 space-y-2 text-soft">{children}</div>
      {action !== undefined && <div className="mt-4 flex flex-wrap gap-2">{action}</div>}
    </div>
  );
}

/** One line about something that went wrong, where it went wrong. */
export function Fault({ children }: { readonly children: ReactNode }) {
  return (
    <p role="alert" className="rounded-md border border-bad px-3 py-2 text-[13px] text-bad">
      {children}
    </p>
  );
}

export function Skeleton({ lines, label }: { readonly lines: number; readonly label: string }) {
  return (
    <div role="status" aria-label={label} className="space-y-3 py-2">
      {PLACES.slice(0, lines).map((place) => (
        <div key={place} className="h-9 rounded-md bg-raised" />
      ))}
    </div>
  );
}

const PLACES = ["a", "b", "c", "d", "e", "f", "g", "h"];
