import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll } from "vitest";
import { z } from "zod";
import { epochMs, isoOf, now, sleep } from "../../src/run/clock.ts";
import type { RunEventRecord } from "../../src/run/event.ts";
import { openStore } from "../../src/store/open.ts";
import type { RunPatch, Store } from "../../src/store/store.ts";
import { BIN, type Door, type Product, type RunView } from "./product.ts";

const bytes = z.object({ worktree: z.number().nullable(), checkpoints: z.number().nullable(), record: z.number() });
const row = z.looseObject({
  run_id: z.string(),
  what: z.enum(["archive", "reclaim", "nothing"]),
  done: z.boolean(),
  why: z.string(),
  kept: z.array(z.string()),
  freed_bytes: z.number(),
  bytes: bytes.nullable(),
});
const listing = z.object({
  policy: z.record(z.string(), z.number().nullable()).nullable(),
  applied: z.boolean(),
  runs: z.array(row),
  freed_bytes: z.number(),
  total_bytes: z.number().nullable(),
});
export type Listing = z.infer<typeof listing>;

/** Runs of one home whose stops can be made older, and the policy over them. */
export interface Retained {
  readonly store: Store;
  /** A run of these turns in a repository of its own that has ended. */
  ended(name: string, turns: readonly unknown[], more?: Readonly<Record<string, unknown>>): Promise<RunView>;
  /** Moves the stop so many days into the past. */
  age(run: RunView, days: number, more?: RunPatch): Promise<void>;
  events(run: RunView): Promise<readonly RunEventRecord[]>;
  /** `loopkeeper retention --json` with a configuration that holds this policy; the worker's stays as it is. */
  retention(policy: Readonly<Record<string, number>> | null, ...words: string[]): Promise<Listing>;
  /** Waits until the run is as wanted. */
  until(run: RunView, look: (run: RunView, put_away: string) => boolean): Promise<string>;
}

export async function retained(product: Product, door: Door): Promise<Retained> {
  await door.call("run_list");
  const url = product.env["LOOPKEEPER_DATABASE_URL"] ?? null;
  const store = await openStore({ url, path: join(product.home, "loopkeeper.db") });
  afterAll(() => store.close());
  let configs = 0;
  return {
    store,
    async ended(name, turns, more = {}) {
      const agent = product.agent(name, turns);
      const { run_id } = await door.start({ repo: product.box.repo(name), objective: name, agent, ...more });
      return door.ended(run_id);
    },
    async age(run, days, more = {}) {
      const stopped_at = isoOf(epochMs() - days * 86_400_000);
      await store.apply({
        run_id: run.run_id,
        at: now(),
        bump_revision: false,
        run: { stopped_at, ...more },
        events: [{ type: "run_recorded", at: now(), data: {} }],
      });
    },
    events: (run) => store.events(run.run_id, { after: 0, limit: 1_000 }),
    async retention(policy, ...words) {
      configs += 1;
      const file = join(product.box.dir, `retention-${configs}.json`);
      writeFileSync(file, JSON.stringify({ fetch_remote: false, ...(policy === null ? {} : { retention: policy }) }));
      const env = { ...product.env, LOOPKEEPER_CONFIG: file, LOOPKEEPER_LOG: "error" };
      const { stdout } = await promisify(execFile)(process.execPath, [BIN, "retention", "--json", ...words], { env });
      return listing.parse(JSON.parse(stdout));
    },
    async until(run, look) {
      for (let waited = 0; waited < 60_000; waited += 100) {
        const answer = await door.call("run_status", { run_id: run.run_id });
        const text = z.array(z.string()).parse(answer["put_away"]).join("\n");
        if (answer.run !== undefined && look(answer.run, text)) return text;
        await sleep(100);
      }
      throw new Error(`run ${run.run_id} did not become as wanted`);
    },
  };
}
