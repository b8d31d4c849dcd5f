import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { sleep } from "../../../src/run/clock.ts";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { BIN, type Door, newProduct, type Product, type RunView } from "../../support/product.ts";
import { untouchables } from "../../support/repos.ts";
import type { BackendName } from "../../support/stores.ts";

/**
 * One home with one repository, whose worker is killed again and again. Every process reads the plan of its death when it
 * starts, so the product launches its workers itself and each of them dies where the present plan says.
 */
export interface Lane {
  readonly product: Product;
  readonly door: Door;
  readonly repo: string;
  readonly store: Store;
  /** Says where the next worker is to kill itself; null = nowhere. Those that read an earlier plan are ended first. */
  plan(kill: string | null, arm?: string): Promise<void>;
  /** True once the planned death has come. */
  died(): boolean;
  /** Starts a worker, so that nobody waits for a door's next look. One that finds another leaves again. */
  worker(): void;
  /** Names of the effects that were traced since the plan was set. */
  traced(): readonly string[];
  /** How many prompts of all engine sessions hold the text. */
  prompts(text: string): number;
  start(args: Readonly<Record<string, unknown>>): Promise<RunView>;
}

/** Every turn changes the tree; a prompt with FINISH ends the run. */
const TURNS = [
  { when: "FINISH", do: [{ report: { completed: [], intended: [], verdict: "done" } }] },
  { when: "Iteration", do: [{ say: "at work" }, { run: "date +%s%N >> work.txt" }] },
];

export async function newLane(backend: BackendName = "sqlite"): Promise<Lane> {
  const product = await newProduct(backend);
  const { box, env } = product;
  const repo = box.repo("lane");
  const agent = product.agent("lane", TURNS);
  const planFile = join(box.dir, "crash-plan.json");
  const trace = join(box.dir, "crash-trace");
  const crashEnv = { ...env, LOOPKEEPER_TEST_CRASH: planFile };
  writeFileSync(planFile, "{}");
  const door = await product.connect({ LOOPKEEPER_TEST_CRASH: planFile });
  await door.call("run_list");
  const store = await openStore({ url: urlOf(env), path: join(product.home, "loopkeeper.db") });
  const before = comparable(untouchables(box, repo));
  return {
    product,
    door,
    repo,
    store,
    plan: async (kill, arm) => {
      await product.killWorker();
      rmSync(`${trace}.killed`, { force: true });
      rmSync(trace, { force: true });
      const plan = { role: "worker", trace, ...(kill === null ? {} : { kill }), ...(arm === undefined ? {} : { arm }) };
      writeFileSync(planFile, JSON.stringify(plan));
    },
    died: () => existsSync(`${trace}.killed`),
    worker() {
      const child = spawn(process.execPath, [BIN, "worker"], { env: crashEnv, cwd: box.dir, stdio: "ignore", detached: true });
      child.unref();
    },
    traced: () => (existsSync(trace) ? readFileSync(trace, "utf8").trim().split("\n") : []),
    prompts: (text) =>
      readdirSync(join(box.dir, "scripted"))
        .flatMap((name) => readFileSync(join(box.dir, "scripted", name), "utf8").split("\n"))
        .filter((line) => line.includes('"type":"prompt"') && line.includes(text)).length,
    start: async (args) => {
      expect(comparable(untouchables(box, repo))).toEqual(before);
      return door.start({ repo, agent, ...args });
    },
  };
}

/** Branches of runs come and go; everything else of the user's stays as it is. */
function comparable(facts: Record<string, string>): Record<string, string> {
  const kept = Object.entries(facts).filter(([name]) => !name.includes("loopkeeper") && !name.includes("/worktrees/"));
  return Object.fromEntries(
    kept.map(([name, text]) => [
      name,
      text
        .split("\n")
        .filter((line) => !line.startsWith("refs/heads/loopkeeper/"))
        .join("\n"),
    ]),
  );
}

function urlOf(env: Readonly<Record<string, string>>): string | null {
  return env["LOOPKEEPER_DATABASE_URL"] ?? null;
}

/** Waits until `look` answers something true; fails with `what` and the worker's log after a minute. */
export async function eventually<T>(
  lane: Lane,
  what: string,
  look: () => Promise<T | null | false> | T | null | false,
): Promise<T> {
  for (let waited = 0; waited < 60_000; waited += 50) {
    const seen = await look();
    if (seen !== null && seen !== false) return seen;
    await sleep(50);
  }
  const log = readFileSync(join(lane.product.home, "logs", "worker.log"), "utf8")
    .split("\n")
    .slice(-15)
    .join("\n");
  throw new Error(`${what} did not come.\nTraced: ${lane.traced().slice(-5).join(", ")}\n${log}`);
}

/** What must hold after any death, once somebody has taken the run over. */
export async function checkWhole(lane: Lane, runId: string, granted: number): Promise<void> {
  const { store, door, product } = lane;
  const events = await store.events(runId, { after: 0, limit: 10_000 });
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
  const run = await store.run(runId, "local");
  if (run === null) throw new Error("the run is gone");
  const ledger = await store.grants(runId);
  expect(ledger.reduce((sum, grant) => sum + grant.iterations, run.first_cap)).toBe(run.max_iterations);
  expect(run.max_iterations).toBe(granted);
  expect(run.iteration).toBeLessThanOrEqual(run.max_iterations);
  const explained = await door.call("run_explain_stop", { run_id: runId });
  expect(explained.explanation?.headline.length).toBeGreaterThan(10);
  expect(explained.choices?.some((choice) => choice.action === "resume" && choice.allowed)).toBe(true);
  expect(product.processesWith(`LOOPKEEPER_RUN_ID=${runId}`)).toEqual([]);
  expect(await locksIn(join(lane.repo, ".git"))).toEqual([]);
}

/** Lock files that stay: those of a git at work go away by themselves. */
async function locksIn(folder: string): Promise<string[]> {
  let left: string[] = [];
  for (let waited = 0; waited < 5_000; waited += 100) {
    try {
      left = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".lock"));
      if (left.length === 0) break;
    } catch {
      // A folder of refs that is packed away while it is read.
    }
    await sleep(100);
  }
  return left;
}
