import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { act, Problem } from "../api/client.ts";

/** What every answer of an action has. */
export interface DeedAnswer {
  readonly summary: string;
  readonly replayed?: { readonly first_at: string } | null;
}

export interface Deed<T extends DeedAnswer> {
  readonly pending: boolean;
  readonly problem: Error | null;
  /** The run moved since it was looked at; it has been looked at again. */
  readonly stale: boolean;
  /** Null when it was refused or failed, or another click is under way. */
  send(body: object): Promise<T | null>;
}

/**
 * One deed of one dialog. Its request id is made when the dialog opens: whatever is clicked twice or answered into nothing has its
 * effect once. `revision`: the one that the person looked at; null where a run may move by itself meanwhile.
 */
export function useDeed<T extends DeedAnswer>(
  { run_id, path }: { readonly run_id: string; readonly path: string },
  revision: number | null,
  lookAgain: () => Promise<unknown>,
): Deed<T> {
  const queries = useQueryClient();
  const [requestId] = useState(newRequestId);
  const [pending, setPending] = useState(false);
  const [problem, setProblem] = useState<Error | null>(null);
  const [stale, setStale] = useState(false);
  const busy = useRef(false);

  async function send(body: object): Promise<T | null> {
    if (busy.current) return null;
    busy.current = true;
    setPending(true);
    setProblem(null);
    setStale(false);
    try {
      return await act<T>(`/api/runs/${encodeURIComponent(run_id)}/${path}`, body, {
        requestId,
        ...(revision === null ? {} : { revision }),
      });
    } catch (error) {
      if (error instanceof Problem && error.code === "revision_conflict") {
        await lookAgain();
        setStale(true);
      } else setProblem(error instanceof Error ? error : new Error(String(error)));
      return null;
    } finally {
      busy.current = false;
      setPending(false);
      void queries.invalidateQueries({ queryKey: ["run", run_id] });
      void queries.invalidateQueries({ queryKey: ["ledger"] });
    }
  }

  return { pending, problem, stale, send };
}

/** 128 random bits; `randomUUID` is only there over TLS or on this machine. */
function newRequestId(): string {
  return `console-${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
