import { bytesText } from "../run/bytes.ts";
import type { RunEventRecord } from "../run/event.ts";
import type { RunRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import { oneLine } from "./shown.ts";

/** Who put a run away or freed it, when and by which rule, and what keeps the policy from freeing it: a sentence each. */
export async function putAwayLines(store: Pick<Store, "events">, run: RunRecord): Promise<string[]> {
  const types = ["run_claimed", "run_archived", "run_reclaimed", "reclaim_kept"] as const;
  const events = await store.events(run.run_id, { types, limit: 20 });
  const last = (type: (typeof types)[number]) => events.findLast((event) => event.type === type);
  const claimed = last("run_claimed")?.seq ?? 0;
  const [archived, reclaimed, kept] = [last("run_archived"), last("run_reclaimed"), last("reclaim_kept")];
  return [
    ...(run.archived_at === null || archived === undefined ? [] : [`Archived at ${run.archived_at} by ${who(archived)}.`]),
    ...(run.reclaimed_at === null || reclaimed === undefined ? [] : [freedLine(run.reclaimed_at, reclaimed)]),
    ...(run.reclaimed_at !== null || kept === undefined || kept.seq < claimed ? [] : keptLine(kept)),
  ];
}

function freedLine(at: string, event: RunEventRecord): string {
  const bytes = event.data["freed_bytes"];
  return `Its workspace was freed at ${at} by ${who(event)}${typeof bytes === "number" ? `, ${bytesText(bytes)}` : ""}.`;
}

function keptLine(event: RunEventRecord): string[] {
  const { kept } = event.data;
  if (!Array.isArray(kept) || kept.length === 0) return [];
  const named = kept.slice(0, 4).map((reason) => oneLine(String(reason), 160));
  const more = kept.length - named.length;
  return [`Not freed at ${event.at} by ${who(event)}: ${named.join("; ")}${more > 0 ? `; and ${more} more` : ""}.`];
}

function who({ data }: RunEventRecord): string {
  if (data["by"] !== "policy") return "its owner";
  const { why } = data;
  return `the retention policy${typeof why === "string" ? ` (${oneLine(why, 160)})` : ""}`;
}
