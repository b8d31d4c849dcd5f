import { existsSync } from "node:fs";
import { type OpenOptions, openStore } from "../../src/store/open.ts";
import { rawSql } from "./raw-sql.ts";

/**
 * Every run of every test is replayed when the tests of its file are over: what its events make of its rows must be its rows.
 * A test that damages a run behind the store's back says so.
 */
export class Replays {
  readonly #places = new Map<string, Pick<OpenOptions, "url" | "path">>();
  readonly #excepted = new Set<string>();
  readonly #started = new Set<string>();

  /** A store that this test file writes. */
  watch(place: Pick<OpenOptions, "url" | "path">): void {
    this.#places.set(place.url ?? place.path, place);
  }

  /** A run that must be among those that are replayed: so nobody believes in a check that looked at nothing. */
  started(runId: string): void {
    this.#started.add(runId);
  }

  /** The test changes rows of this run with SQL of its own, so its events cannot tell of them. */
  except(runId: string): void {
    this.#excepted.add(runId);
  }

  /** The test makes the whole store unreadable for this version. */
  exceptAll(place: Pick<OpenOptions, "url" | "path">): void {
    this.#places.delete(place.url ?? place.path);
  }

  /** Throws, naming run, table and field, when a run's events do not give its rows. */
  async check(): Promise<void> {
    const faults: string[] = [];
    const replayed = new Set<string>();
    for (const place of this.#places.values()) {
      if (place.url === null && !existsSync(place.path)) continue;
      const store = await openStore({ ...place });
      try {
        for (const runId of await runIds(place)) {
          if (this.#excepted.has(runId)) continue;
          const replay = await store.replay(runId);
          faults.push(...(replay?.differences ?? [`${runId} is not there to be replayed`]));
          replayed.add(runId);
        }
      } finally {
        await store.close();
      }
    }
    const unseen = [...this.#started].filter((runId) => !replayed.has(runId) && !this.#excepted.has(runId));
    if (unseen.length > 0) faults.push(`started and never replayed: ${unseen.join(", ")}`);
    if (faults.length > 0) throw new Error(`Replaying the runs of this test file gives other rows:\n${faults.join("\n")}`);
  }
}

async function runIds(place: Pick<OpenOptions, "url" | "path">): Promise<string[]> {
  const rows = await rawSql({ options: place }, "select run_id from runs order by run_id");
  return rows.flatMap((row) =>
    typeof row === "object" && row !== null && "run_id" in row && typeof row.run_id === "string" ? [row.run_id] : [],
  );
}
