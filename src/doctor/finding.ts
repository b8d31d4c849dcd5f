/** One thing that was looked at. */
export interface Finding {
  readonly what: string;
  readonly state: "ok" | "warning" | "problem";
  readonly found: string;
  /** What to do about it; null where nothing is to be done. */
  readonly do: string | null;
}

export const ok = (what: string, found: string): Finding => ({ what, state: "ok", found, do: null });
export const warning = (what: string, found: string, todo: string): Finding => ({ what, state: "warning", found, do: todo });
export const problem = (what: string, found: string, todo: string): Finding => ({ what, state: "problem", found, do: todo });
