import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fileAppears, newProduct, refusalOf } from "../support/product.ts";
import { backends } from "../support/stores.ts";

for (const backend of backends) {
  describe(`several processes at once on ${backend}`, async () => {
    const product = await newProduct(backend);

    test("of twenty resumes from four servers one wins, the others hear that the run is live; grants are counted once each", async () => {
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

      const answers = await Promise.allSettled(
        Array.from({ length: 20 }, (_, n) => doors[n % 4]?.call("run_resume", { run_id, instructions: `resume ${n}` })),
      );
      const won = answers.filter((answer) => answer.status === "fulfilled");
      const refused = answers.flatMap((answer) => (answer.status === "rejected" ? [String(answer.reason)] : []));
      expect(won).toHaveLength(1);
      for (const text of refused) expect(text).toMatch(/already_running: .*run_wait/u);
      await fileAppears(join(workspace.path, "engine-started"));
      const scripted = product.processesWith(`LOOPKEEPER_RUN_ID=${run_id}`);
      expect(scripted.length).toBeGreaterThan(0);
      await first.call("run_stop", { run_id });
      expect(await first.ended(run_id)).toMatchObject({ stop_reason: "cancelled", iteration: 1 });
      expect(product.processesWith(`LOOPKEEPER_RUN_ID=${run_id}`)).toEqual([]);
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
