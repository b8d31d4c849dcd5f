import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Parts } from "../app.ts";
import type { Config } from "../config.ts";
import { DEAD_MS } from "../loop/stillness.ts";
import { epochMs, msOf } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { isLive } from "../run/run.ts";
import { sqliteHealth } from "../store/sqlite-health.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";
import { lastFaults } from "./worker-log.ts";

/** The store, the worker that drives runs, and what dead processes left behind. */

export async function checkStore(config: Config, open: () => Promise<Parts>): Promise<readonly Finding[]> {
  const file = join(config.home, "loopkeeper.db");
  if (config.database_url === null && !existsSync(file))
    return [ok("store", "SQLite, not there yet: it is made at the first use")];
  try {
    const health = config.database_url === null ? sqliteHealth(file) : null;
    if (health !== null && health.damage !== null)
      return [
        problem(
          "store",
          `${file} is damaged: ${health.damage}`,
          "End every Loopkeeper process, copy the file away, then recover it: sqlite3 loopkeeper.db .recover | sqlite3 new.db",
        ),
      ];
    const parts = await open();
    const kind = health === null ? "Postgres" : `SQLite, schema ${health.version}, whole`;
    return [ok("store", kind), copies(parts), await worker(parts), ...(await leftovers(parts))];
  } catch (error) {
    const known = error instanceof LoopkeeperError;
    return [problem("store", known ? error.message : "it cannot be opened", "Correct that, then run loopkeeper doctor again.")];
  }
}

function copies({ store, config }: Parts): Finding {
  if (store.copies.refused !== null) return warning("copies", "conversations are not copied to the store", store.copies.refused);
  return ok("copies", config.key === null ? "kept in the embedded store, plain" : "sealed with LOOPKEEPER_KEY");
}

async function worker({ store, engines, config }: Parts): Promise<Finding> {
  const [workers, uncovered, leases, own] = await Promise.all([
    store.workers(),
    store.liveRuns(),
    store.leases(),
    engines.processIdentity(),
  ]);
  const here = workers.filter((one) => one.identity.host === own.host);
  const alive = await Promise.all(here.map((one) => engines.isAlive(one.identity)));
  const one = here.find((_, index) => alive[index] !== false);
  const log = join(config.home, "logs", "worker.log");
  const waiting = uncovered.filter((run) => isLive(run.state)).length;
  if (one === undefined && waiting > 0)
    return warning(
      "worker",
      `none, and ${runsText(waiting)} ${waiting === 1 ? "waits" : "wait"} for one`,
      `Any command starts one: loopkeeper list. If none stays, see ${log}`,
    );
  const silentMs = one === undefined ? 0 : epochMs() - msOf(one.beat_at);
  if (one !== undefined && silentMs > DEAD_MS)
    return warning(
      "worker",
      `process ${one.identity.pid} lives, and has given no sign for ${Math.floor(silentMs / 1000)} s`,
      `It is stopped, or hangs. loopkeeper wait puts another one in its place within 20 s; then kill -9 ${one.identity.pid}. Its log: ${log}`,
    );
  const driven = leases.filter((lease) => lease.worker_id === one?.worker_id).length;
  const found =
    one === undefined ? "none (one is started when a run wants it)" : `process ${one.identity.pid}, drives ${runsText(driven)}`;
  const faults = await lastFaults(log);
  return faults.length === 0
    ? ok("worker", found)
    : warning("worker", `${found}; its last fault: ${faults.at(-1) ?? ""}`, `See ${log}`);
}

function runsText(count: number): string {
  return `${count} ${count === 1 ? "run" : "runs"}`;
}

async function leftovers({ store, engines, config }: Parts): Promise<readonly Finding[]> {
  const leases = await store.leases();
  const own = await engines.processIdentity();
  const dead = await Promise.all(
    leases
      .filter((lease) => lease.identity.host === own.host)
      .map(async (lease) => ((await engines.isAlive(lease.identity)) === false ? lease.run_id : null)),
  );
  const orphans: string[] = [];
  for (const name of await readdir(join(config.home, "workspaces")).catch(() => [])) {
    const known = await store.runsByPrefix(name, "local", 1);
    if (known.length === 0) orphans.push(join(config.home, "workspaces", name));
  }
  const held = dead.filter((id) => id !== null);
  return [
    held.length === 0
      ? ok("drivers", "no run is held by a dead process")
      : warning(
          "drivers",
          `${runsText(held.length)} ${held.length === 1 ? "is" : "are"} held by a dead process`,
          "Any command frees them within 20 s: loopkeeper wait",
        ),
    orphans.length === 0
      ? ok("worktrees", "each belongs to a run")
      : warning(
          "worktrees",
          `${orphans.length} without a run in this store: ${orphans.slice(0, 3).join(", ")}`,
          "Another store may know them. Look what is in one (git -C FOLDER status), then: git worktree remove FOLDER",
        ),
  ];
}
