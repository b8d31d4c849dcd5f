import { msOf } from "../run/clock.ts";
import type { RunEventRecord, RunEventType } from "../run/event.ts";
import type { Store } from "../store/store.ts";

/** What happened to a run beside its iterations. */
export const MARK_KINDS = [
  "grant",
  "resume",
  "stop",
  "done",
  "reset",
  "redo",
  "instructions",
  "scheduled",
  "driver_lost",
  "compaction",
] as const;
type MarkKind = (typeof MARK_KINDS)[number];

const MOST = 2_000;

const KINDS: Partial<Record<RunEventType, MarkKind>> = {
  iterations_granted: "grant",
  run_resumed: "resume",
  run_stopped: "stop",
  run_done: "done",
  run_reset: "reset",
  step_redone: "redo",
  instructions_given: "instructions",
  run_scheduled: "scheduled",
  driver_lost: "driver_lost",
  context_compacted: "compaction",
};
const TYPES: readonly RunEventType[] = [
  "iterations_granted",
  "run_resumed",
  "run_stopped",
  "run_done",
  "run_reset",
  "step_redone",
  "instructions_given",
  "run_scheduled",
  "driver_lost",
  "context_compacted",
];

/** Oldest first; of very many the newest. */
export async function marksOf(
  store: Pick<Store, "events">,
  runId: string,
): Promise<{ kind: MarkKind; what: string; at_ms: number }[]> {
  const events = await store.events(runId, { types: TYPES, limit: MOST });
  return events.flatMap((event) => {
    const kind = KINDS[event.type];
    return kind === undefined ? [] : [{ kind, what: wordsOf(kind, event), at_ms: msOf(event.at) }];
  });
}

function wordsOf(kind: MarkKind, { data }: RunEventRecord): string {
  const fact = (name: string): string | null => {
    const value = data[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : null;
  };
  switch (kind) {
    case "grant":
      return `+${fact("iterations") ?? "?"} iterations granted`;
    case "resume":
      return `resumed${fact("by") === null ? "" : ` by ${fact("by")}`}`;
    case "stop":
      return `stopped: ${fact("reason") ?? "unknown"}`;
    case "done":
      return "done";
    case "reset":
      return `reset to ${fact("to") ?? "a checkpoint"}`;
    case "redo":
      return `step ${fact("step") ?? "?"} redone`;
    case "instructions":
      return "instructions given";
    case "scheduled":
      return `goes on by itself at ${fact("until") ?? "a later time"}`;
    case "driver_lost":
      return "its driver was lost";
    case "compaction":
      return "the engine compacted its context";
  }
}
