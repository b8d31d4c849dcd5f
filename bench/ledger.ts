import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServe } from "../test/support/serve.ts";
import { fillWithRuns } from "./list.ts";
import { type Measurement, measurement, quantile, timed } from "./measurement.ts";

const RUNS = 10_000;
const SAMPLES = 40;

const READINGS: readonly (readonly [string, string])[] = [
  ["100 rows that need somebody", "group=needs_you&limit=100"],
  ["200 rows that need somebody", "group=needs_you&limit=200"],
  ["rows of one repository", "group=needs_you&limit=100&repo=%2Frepo%2F7%2F.git"],
  ["a search that finds nothing", "group=needs_you&limit=100&search=zzz"],
];

/** The console's ledger over HTTP at 10,000 runs, against the smallest answer of the same server. */
export async function measure(): Promise<Measurement[]> {
  const home = mkdtempSync(join(tmpdir(), "lk-bench-ledger-"));
  try {
    mkdirSync(join(home, "home"));
    await fillWithRuns(join(home, "loopkeeper.db"), RUNS, "local");
    const serve = await startServe({ PATH: process.env["PATH"] ?? "", HOME: join(home, "home"), LOOPKEEPER_HOME: home });
    const floor = quantile(await samples(() => serve.request("/api/session")), 0.5);
    const results: Measurement[] = [];
    for (const [name, query] of READINGS) {
      const times = await samples(async () => (await serve.request(`/api/ledger?${query}`)).text());
      results.push(
        measurement({
          name: `ledger at ${RUNS} runs: ${name}, p95`,
          value: quantile(times, 0.95),
          floor,
          limit: null,
          unit: "ms",
          note: `median ${quantile(times, 0.5).toFixed(1)} ms`,
        }),
      );
    }
    serve.child.kill("SIGTERM");
    await serve.exit();
    return results;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function samples(work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) times.push(await timed(work));
  return times.slice(3);
}
