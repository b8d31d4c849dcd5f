import type { ReactNode } from "react";

/** What stands where data would be. */

export function Loading({ what }: { readonly what: string }) {
  return (
    <div role="status" className="space-y-2 py-6">
      <span className="sr-only">Reading {what}</span>
      {[72, 48, 60, 36].map((width) => (
        <div key={width} className="h-3 rounded bg-raised" style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="rounded border border-dashed border-line px-4 py-8 text-center">
      <p className="font-medium">{title}</p>
      {children !== undefined && <div className="mt-1 text-soft">{children}</div>}
    </div>
  );
}

export function Failed({ error, again }: { readonly error: Error; readonly again: () => void }) {
  return (
    <div role="alert" className="rounded border border-line border-l-4 border-l-bad px-4 py-3">
      <p className="font-medium">This could not be read.</p>
      <p className="mt-1 break-words text-soft">{error.message}</p>
      <button type="button" onClick={again} className="mt-2 rounded border border-line px-2.5 py-0.5 hover:bg-raised">
        Try again
      </button>
    </div>
  );
}
