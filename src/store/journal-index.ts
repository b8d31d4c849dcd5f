import type { Backend } from "./backend.ts";
import type { IterationSpan } from "./store.ts";

/** Out of the index over the chunks alone: no body is read, and what comes back grows with the iterations only. */
export async function readJournalIndex({ db }: Backend, runId: string): Promise<IterationSpan[]> {
  const groups = await db
    .selectFrom("journal_chunks")
    .select((chunk) => [
      "first_iteration",
      "last_iteration",
      chunk.fn.min("first_n").as("first_n"),
      chunk.fn.max("last_n").as("last_n"),
    ])
    .where("run_id", "=", runId)
    .groupBy(["first_iteration", "last_iteration"])
    .execute();
  const spans = new Map<number, IterationSpan>();
  for (const { first_iteration, last_iteration, first_n, last_n } of groups) {
    for (let iteration = first_iteration; iteration <= last_iteration; iteration += 1) {
      const known = spans.get(iteration);
      spans.set(iteration, {
        iteration,
        first_n: Math.min(known?.first_n ?? first_n, first_n),
        last_n: Math.max(known?.last_n ?? last_n, last_n),
      });
    }
  }
  return [...spans.values()].sort((a, b) => a.first_n - b.first_n || a.iteration - b.iteration);
}
