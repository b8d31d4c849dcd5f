import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { BIN, fileAppears, newProduct, refusalOf } from "../support/product.ts";
import { backends } from "../support/stores.ts";

/** Resolves when the command went through; rejects with what it wrote when it was refused. */
async function resumeOnCommandLine(env: Readonly<Record<string, string>>, runId: string, words: string): Promise<void> {
  await promisify(execFile)(process.execPath, [BIN, "resume", runId, "--instructions", words], { env: { ...env }, cwd: "/" });
}

for (const backend of backends) {
  describe(`several processes at once on ${backend}`, async () => {
    const product = await newProduct(backend);

    test("C43: of twenty resumes from four servers and the command line one wins, the others hear that it is live; events have no gap", async () => {
      const repo = product.box.repo("parallel");
      const agent = product.agent("parallel", [
        [{ edit: { path: "a", content: "1" } }],
        [{ run: "touch engine-started; sleep 60" }],
      ]);
      const doors = await Promise.all([1, 2, 3, 4].map(() => product.connect()));
      const [first] = doors;
      if (first === undefined) throw new Error("no door");
      const { run_id, workspace } = await first.start({ repo, objective: "Be resumed", agent, max_iterations: 1 });
      await first.ended(run_id);
      const grants = await Promise.all(
        doors.flatMap((door, n) =>
          [1, 2].map((iterations) =>
            door.call("run_grant_iterations", { run_id, iterations, continue: false, request_id: `g-${n % 2}-${iterations}` }),
          ),
        ),
      );
      expect(grants).toHaveLength(8);
      expect((await first.call("run_status", { run_id })).run?.max_iterations).toBe(1 + 2 * (1 + 2));

      const lines = [1, 2].map((n) => resumeOnCommandLine(product.env, run_id, `line ${n}`));
      const answers = await Promise.allSettled([
        ...Array.from({ length: 18 }, (_, n) => doors[n % 4]?.call("run_resume", { run_id, instructions: `resume ${n}` })),
        ...lines,
      ]);
      const won = answers.filter((answer) => answer.status === "fulfilled");
      const refused = answers.flatMap((answer) => (answer.status === "rejected" ? [String(answer.reason)] : []));
      expect(won).toHaveLength(1);
      for (const text of refused) expect(text).toMatch(/already_running: .*(run_wait|loopkeeper wait)/u);
      await fileAppears(join(workspace.path, "engine-started"));
      const scripted = product.processesWith(`LOOPKEEPER_RUN_ID=${run_id}`);
      expect(scripted.length).toBeGreaterThan(0);
      await first.call("run_stop", { run_id });
      expect(await first.ended(run_id)).toMatchObject({ stop_reason: "cancelled", iteration: 1 });
      expect(product.processesWith(`LOOPKEEPER_RUN_ID=${run_id}`)).toEqual([]);
      const options = { url: product.env["LOOPKEEPER_DATABASE_URL"] ?? null, path: join(product.home, "loopkeeper.db") };
      const store = await openStore(options);
      const events = await store.events(run_id, { after: 0, limit: 1_000 });
      await store.close();
      expect(events.map((event) => event.seq)).toEqual(events.map((_, n) => n + 1));
      expect(events.filter((event) => event.type === "run_resumed")).toHaveLength(1);
      for (const door of doors) await door.close();
    });

    test("a call from inside a run may read but not start or change runs", async () => {
      const repo = product.box.repo("inside");
      const door = await product.connect({ LOOPKEEPER_RUN_ID: "run_outer" });
      expect((await door.call("run_list")).summary).toContain("run");
      expect(await refusalOf(door.call("coding_loop_start", { repo, objective: "nested", agent: "parallel" }))).toMatch(
        /^not_allowed: inside_a_run/u,
      );
      await door.close();
    });

    test("a worker told to end hands its runs over as interrupted with their work, and the next one goes on", async () => {
      const repo = product.box.repo("sigterm");
      const agent = product.agent("sigterm", [
        [{ edit: { path: "half", content: "half" } }, { run: "touch begun; sleep 60" }],
        [{ report: { completed: [], intended: [], verdict: "done" } }],
      ]);
      const door = await product.connect();
      const { run_id, workspace } = await door.start({ repo, objective: "Be handed over", agent });
      await fileAppears(join(workspace.path, "begun"));
      product.endWorker();
      expect(await door.ended(run_id)).toMatchObject({ stop_reason: "interrupted", iteration: 0, resumable: true });
      expect(existsSync(join(workspace.path, "half"))).toBe(true);
      expect((await door.call("run_resume", { run_id })).resumed).toMatchObject({ context: "native" });
      expect(await door.ended(run_id)).toMatchObject({ state: "done" });
      await door.close();
    });
  });
}
