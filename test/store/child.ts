import { z } from "zod";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { AT, anEntry, anEvent, anIdentity } from "../support/records.ts";

/** What the tests run as processes of their own. Prints one line of JSON per result. */

const jobSchema = z.object({
  url: z.string().nullable(),
  path: z.string(),
  job: z.enum(["open", "events", "grants", "claims", "stream"]),
  run_id: z.string().default(""),
  times: z.number().default(0),
});
type Job = z.infer<typeof jobSchema>;

const JOBS = { open, events, grants, claims, stream } as const;

const job = jobSchema.parse(JSON.parse(process.argv[2] ?? ""));
const store = await openStore(job);
await JOBS[job.job](store, job);
await store.close();

async function open(opened: Store): Promise<void> {
  print({ runs: (await opened.runs({ owner: "owner", archived: false, limit: 1 })).total });
}

async function events(opened: Store, { run_id, times }: Job): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const data = { writer: process.pid, n };
    const journal = [anEntry(`entry ${n} of ${process.pid}`)];
    const both = [
      { type: "iteration_started", at: AT, data },
      { type: "iteration_finished", at: AT, data },
    ] as const;
    await opened.apply({ run_id, at: AT, bump_revision: true, events: both, journal });
  }
  print({ written: times });
}

/** Grants like a door: looks, grants with the revision it saw, and looks again when somebody was quicker. */
async function grants(opened: Store, { run_id, times }: Job): Promise<void> {
  let granted = 0;
  let refused = 0;
  for (let n = 0; n < times; n += 1) {
    const run = await opened.run(run_id, "owner");
    const iterations = 1 + ((process.pid + n) % 7);
    try {
      await opened.apply({
        run_id,
        at: AT,
        bump_revision: true,
        events: [anEvent()],
        ...(n % 2 === 0 && run !== null ? { expected_revision: run.revision } : {}),
        grants: [{ iterations, at: AT }],
      });
      granted += iterations;
    } catch (error) {
      if (!(error instanceof Error && error.message.includes("expected_revision"))) throw error;
      refused += 1;
    }
  }
  print({ granted, refused });
}

async function claims(opened: Store): Promise<void> {
  const claimed: string[] = [];
  for (;;) {
    const claim = await opened.claimQueued(`worker-${process.pid}`, anIdentity());
    if (claim === null) break;
    claimed.push(claim.run.run_id);
  }
  print({ claimed });
}

/** Appends without end and acknowledges each flush that is durable. */
async function stream(opened: Store, { run_id }: Job): Promise<void> {
  for (let n = 1; ; n += 1) {
    await opened.appendJournal({ run_id, fence: 0, at: AT, entries: [anEntry(`flush ${n} a`), anEntry(`flush ${n} b`)] });
    print({ acknowledged: n });
  }
}

function print(result: unknown): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
