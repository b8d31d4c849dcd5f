import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newProduct } from "../support/product.ts";
import { read } from "../support/repos.ts";
import { backends } from "../support/stores.ts";

for (const backend of backends) {
  describe(`the main job on ${backend}`, async () => {
    const product = await newProduct(backend);

    test("a loop that hits its ceiling is explained, granted and resumed after every process died, and ends done", async () => {
      const repo = product.box.repo("main-job");
      const agent = product.agent("main", [
        [
          { say: "I begin." },
          {
            plan: [
              ["write a.txt", "in_progress"],
              ["commit it", "pending"],
            ],
          },
          { edit: { path: "a.txt", content: "half\n" } },
          { report: { completed: ["looked around"], midway: "a.txt is half written", intended: ["commit a.txt"] } },
        ],
        [
          { recall: true },
          { edit: { path: "a.txt", content: "whole\n" } },
          { commit: "Write a.txt" },
          { report: { completed: ["a.txt"], intended: [], verdict: "done" } },
        ],
      ]);
      const before = await product.connect();
      const started = await before.start({
        repo,
        objective: "Write a.txt",
        agent,
        max_iterations: 1,
        verify: ["grep -q whole a.txt"],
      });
      const stopped = await before.ended(started.run_id);
      expect(stopped).toMatchObject({
        state: "stopped",
        stop_reason: "max_iterations",
        resumable: true,
        iteration: 1,
        max_iterations: 1,
        stop: { class: "cut_off", needs: ["add_iterations"] },
      });
      await product.killEverything();

      const after = await product.connect();
      const { explanation, choices } = await after.call("run_explain_stop", { run_id: started.run_id });
      expect(explanation?.cause).toMatchObject({ stop_reason: "max_iterations", source: "loop" });
      expect(explanation?.completed).toContainEqual({ what: "looked around", source: "reported" });
      expect(explanation?.midway).toContainEqual({ what: "a.txt is half written", source: "reported" });
      expect(explanation?.midway.some((item) => item.source === "observed" && item.what.includes("a.txt"))).toBe(true);
      expect(explanation?.intended).toContainEqual({ what: "commit a.txt", source: "reported" });
      expect(explanation?.uncommitted).toMatchObject({ total_files: 1, files: [{ path: "a.txt", owner: "this_run" }] });
      expect(choices?.filter((choice) => choice.recommended)).toMatchObject([{ action: "resume", allowed: true }]);

      const granted = await after.call("run_grant_iterations", { run_id: started.run_id, iterations: 2, continue: false });
      expect(granted).toMatchObject({
        granted: { iterations: 2, max_iterations: 3 },
        continued: false,
        run: { state: "stopped" },
      });
      const resumed = await after.call("run_resume", { run_id: started.run_id, instructions: "Write the whole file." });
      expect(resumed.resumed).toMatchObject({ attempt: 2, from: "stop", context: "native" });
      const done = await after.ended(started.run_id);
      expect(done).toMatchObject({ state: "done", stop_reason: "done", resumable: false, iteration: 2, max_iterations: 3 });
      expect(read(done.workspace.path, "a.txt")).toBe("whole\n");
      const account = await after.call("run_explain_stop", { run_id: started.run_id });
      expect(account.explanation?.acts.landed).toMatchObject([{ kind: "commit", what: "Write a.txt" }]);
      expect(account.explanation?.spans.map((span) => span.ended_by)).toEqual(["max_iterations", "done"]);
      expect(product.box.git(repo, "log", "--format=%s", `${done.repository.branch}`)).toBe("Write a.txt\nbase");
      expect(product.box.git(repo, "status", "--porcelain")).toBe("");
      await after.close();
    });
  });

  describe.concurrent(`the main job, side by side, on ${backend}`, async () => {
    const product = await newProduct(backend);

    test("a grant alone lets a run that its ceiling stopped go on as it was", async () => {
      const repo = product.box.repo("granted");
      const agent = product.agent("granted", [
        [{ edit: { path: "one", content: "1" } }],
        [{ report: { completed: ["two"], intended: [], verdict: "done" } }],
      ]);
      const door = await product.connect();
      const { run_id } = await door.start({ repo, objective: "Two turns", agent, max_iterations: 1 });
      await door.ended(run_id);
      const granted = await door.call("run_grant_iterations", { run_id, iterations: 3, request_id: "grant-1" });
      expect(granted).toMatchObject({ continued: true, not_continued_because: null, run: { max_iterations: 4 } });
      const again = await door.call("run_grant_iterations", { run_id, iterations: 3, request_id: "grant-1" });
      expect(again).toMatchObject({
        granted: { iterations: 3, max_iterations: 4 },
        run: { max_iterations: 4 },
        replayed: { first_at: expect.any(String) },
      });
      expect(await door.ended(run_id)).toMatchObject({ state: "done", iteration: 2, max_iterations: 4 });
      await door.close();
    });

    test("a client that goes away does not end the run, and nothing of the run lives on behind it", async () => {
      const repo = product.box.repo("alone");
      const agent = product.agent("alone", [
        [{ spawn: "sleep 999" }, { sleep: 1500 }, { report: { completed: ["slept"], intended: [], verdict: "done" } }],
      ]);
      const first = await product.connect();
      const { run_id } = await first.start({ repo, objective: "Sleep", agent });
      await first.close();
      const second = await product.connect();
      expect(await second.ended(run_id)).toMatchObject({ state: "done" });
      expect(product.processesWith(`LOOPKEEPER_RUN_ID=${run_id}`)).toEqual([]);
      expect(read(product.home, join("logs", "worker.log"))).not.toContain("failed");
      await second.close();
    });
  });
}
