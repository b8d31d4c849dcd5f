import type { ReactNode } from "react";
import type { RunGroup } from "../../../src/run/group.ts";
import type { RunState } from "../../../src/run/run.ts";
import type { StopReason } from "../../../src/run/stop-reason.ts";

/** States differ in shape and in colour, and are always named: none of the three has to be seen. */

type Tone = "good" | "busy" | "needs" | "bad" | "soft";

const COLOURS: Readonly<Record<Tone, string>> = {
  good: "text-good",
  busy: "text-busy",
  needs: "text-needs",
  bad: "text-bad",
  soft: "text-soft",
};

interface Standing {
  readonly state: RunState;
  readonly stop_reason: StopReason | null;
  readonly group: RunGroup;
}

/** Stops in which something is broken, as against one that only waits for a word. */
const BROKEN: ReadonlySet<StopReason> = new Set(["failed", "storage", "engine_auth", "provider_credit"]);

function toneOf({ state, stop_reason, group }: Standing): Tone {
  if (state === "done") return "good";
  if (group === "running" || group === "waiting") return "busy";
  if (group === "finished") return "soft";
  return stop_reason !== null && BROKEN.has(stop_reason) ? "bad" : "needs";
}

export function StateBadge({ run, reason = true }: { readonly run: Standing; readonly reason?: boolean }) {
  const word = run.group === "waiting" ? "waiting" : run.state;
  const why = reason && run.state === "stopped" ? run.stop_reason : null;
  return (
    <span className={`inline-flex items-center gap-1.5 whitespace-nowrap ${COLOURS[toneOf(run)]}`}>
      <Shape run={run} />
      <span className={`font-medium ${why === null ? "" : "max-sm:sr-only"}`}>{word}</span>
      {why !== null && <span className="truncate font-mono text-[12px]">{why}</span>}
    </span>
  );
}

function Shape({ run }: { readonly run: Standing }) {
  return (
    <svg
      viewBox="0 0 14 14"
      width="12"
      height="12"
      aria-hidden="true"
      className="shrink-0"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
    >
      {shapeOf(run)}
    </svg>
  );
}

function shapeOf(run: Standing): ReactNode {
  if (run.group === "waiting")
    return (
      <>
        <circle cx="7" cy="7" r="5.5" />
        <path d="M7 4v3.2L9 9" strokeWidth="1.6" />
      </>
    );
  if (run.state === "running")
    return <path d="M7 1.5A5.5 5.5 0 1 1 1.5 7" className="turning origin-center" strokeLinecap="round" />;
  if (run.state === "queued") return <circle cx="7" cy="7" r="5.5" strokeDasharray="2 2.3" />;
  if (run.state === "stopping") return <path d="M1.5 7A5.5 5.5 0 1 1 7 12.5M5 5h4v4H5z" strokeWidth="1.6" />;
  if (run.state === "done")
    return (
      <>
        <circle cx="7" cy="7" r="6" fill="currentColor" stroke="none" />
        <path d="m4.2 7.2 2 2 3.6-4" stroke="var(--ground)" strokeWidth="1.6" />
      </>
    );
  switch (toneOf(run)) {
    case "bad":
      return <path d="M7 1 13.4 12.4H.6z" fill="currentColor" stroke="none" />;
    case "needs":
      return <circle cx="7" cy="7" r="6" fill="currentColor" stroke="none" />;
    default:
      return <rect x="2" y="2" width="10" height="10" rx="1" />;
  }
}
