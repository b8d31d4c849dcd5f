import { z } from "zod";
import { whyNotCovered } from "../resume/not-covered.ts";
import { msOf } from "../run/clock.ts";
import { CHECKPOINT_KINDS } from "../run/run.ts";
import { defineView } from "./define-view.ts";
import { findRun } from "./present.ts";
import { runIdArgument } from "./schemas.ts";

const MOST = 20_000;
const MOST_PATHS = 1_000;

const output = z.object({
  /** Newest first. */
  checkpoints: z.array(
    z.object({
      id: z.string(),
      kind: z.enum(CHECKPOINT_KINDS),
      iteration: z.number().int(),
      step: z.string().nullable(),
      attempt: z.number().int().nullable(),
      at_ms: z.number(),
      files: z.number().int(),
      bytes: z.number(),
      state: z.enum(["present", "lost", "failed"]),
      failure: z.string().nullable(),
      head: z.string().nullable(),
      /** Places in `not_covered`. */
      not_covered: z.array(z.number().int()),
      /** How many there are, listed or not. */
      not_covered_total: z.number().int(),
    }),
  ),
  /** Paths that checkpoints left out, each once with its reason. */
  not_covered: z.array(z.object({ path: z.string(), why: z.string() })),
  /** The checkpoint where the run began, and that of its stop. */
  base: z.string().nullable(),
  stop: z.string().nullable(),
});
export type CheckpointList = z.output<typeof output>;

export const viewCheckpoints = defineView({
  name: "checkpoints",
  title: "Checkpoints of a run",
  description: "All checkpoints, newest first, with what each could not cover and why.",
  input: z.strictObject({ run_id: runIdArgument }),
  output,
  read: async ({ run_id }, ctx) => {
    const run = await findRun(ctx, run_id);
    const [records, attempts] = await Promise.all([ctx.store.checkpoints(run_id, MOST), ctx.store.attempts(run_id)]);
    const places = new Map<string, number>();
    const paths: { path: string; why: string }[] = [];
    const placeOf = (path: string, why: string): number | null => {
      const key = `${path}\n${why}`;
      const known = places.get(key);
      if (known !== undefined) return known;
      if (paths.length >= MOST_PATHS) return null;
      places.set(key, paths.length);
      return paths.push({ path, why }) - 1;
    };
    return {
      checkpoints: records.map((one) => ({
        id: one.id,
        kind: one.kind,
        iteration: one.iteration,
        step: one.step,
        attempt: one.attempt,
        at_ms: msOf(one.at),
        files: one.files,
        bytes: one.bytes,
        state: one.state,
        failure: one.failure,
        head: one.head,
        not_covered: one.skipped.flatMap((item) => placeOf(item.path, whyNotCovered(item)) ?? []),
        not_covered_total: one.skipped.length,
      })),
      not_covered: paths,
      base: attempts[0]?.entry_checkpoint ?? null,
      stop: run.stop?.uncommitted?.checkpoint ?? null,
    };
  },
});
