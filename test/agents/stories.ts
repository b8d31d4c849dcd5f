import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sleep } from "../../src/run/clock.ts";
import type { StopReason } from "../../src/run/stop-reason.ts";
import { type AgentName, hermeticLaunch } from "./launch.ts";
import { saidSoFar } from "./model-server/conversation.ts";
import type { Fault, Reply } from "./model-server/script.ts";
import { type ModelServer, startModelServer } from "./model-server/server.ts";
import { processesWith } from "./support/processes.ts";
import { makeProductHome, type ProductHome } from "./support/product.ts";
import { makeRepository } from "./support/repository.ts";

const WORDS = "WORDS-OF-THE-FIRST-ITERATION";
const OBJECTIVE = "OBJECTIVE-OF-THE-OWNER: write a.txt";
const ORDER = "ORDER-OF-THE-OWNER: say that it is done";

const DONE: Reply = {
  call: { tool: "report", report: { completed: ["a.txt is written"], intended: [], verdict: "done" } },
};

/** Opencode repeats most of them for a minute and a half and has no setting for it; its start is slow besides. */
const FURTHER_REFUSALS: Readonly<Record<AgentName, readonly (readonly [Fault, StopReason])[]>> = {
  claude: [
    ["unauthorized", "engine_auth"],
    ["usage_window", "engine_limit"],
    ["overloaded", "relay_timeout"],
  ],
  codex: [
    ["unauthorized", "engine_auth"],
    ["usage_window", "engine_limit"],
    ["overloaded", "relay_timeout"],
  ],
  gemini: [
    ["unauthorized", "engine_auth"],
    ["usage_window", "engine_limit"],
    ["overloaded", "relay_timeout"],
  ],
  opencode: [],
};

/** The product, through its MCP door, driving one real agent. */
export function agentStories(name: AgentName): void {
  describe(`loopkeeper with ${name}`, () => {
    let model: ModelServer;
    let home: ProductHome;
    beforeAll(async () => {
      const folder = await mkdtemp(join(tmpdir(), `lane-${name}-`));
      model = await startModelServer({ script: [] });
      const entry = await hermeticLaunch(name, { home: join(folder, "home"), port: model.port });
      home = await makeProductHome(folder, { lane: entry });
    });
    afterAll(async () => {
      await home.killEverything();
      await model.stop();
      await rm(home.folder, { recursive: true, force: true });
    });

    test("a run stopped at its ceiling goes on in the agent's own session after every process was killed", async () => {
      model.clearScript();
      model.enqueue(
        { say: "Planning. ", call: { tool: "plan", entries: [{ content: "Write a.txt", status: "in_progress" }] } },
        { call: { tool: "write", path: "a.txt", content: "hello\n" } },
        { say: WORDS },
      );
      const before = await home.connect();
      const repo = makeRepository(join(home.folder, "ceiling"));
      const { run_id } = await before.start({ repo, objective: OBJECTIVE, max_iterations: 1, agent: "lane" });
      const stopped = await before.ended(run_id);
      expect(stopped).toMatchObject({ state: "stopped", stop_reason: "max_iterations", resumable: true, iteration: 1 });
      expect(await readFile(join(stopped.workspace.path, "a.txt"), "utf8")).toBe("hello\n");
      expect(await processesWith(run_id)).toEqual([]);
      await home.killEverything();

      const after = await home.connect();
      const explanation = await after.explain(run_id);
      expect(explanation.cause).toMatchObject({ stop_reason: "max_iterations", source: "loop" });
      expect(explanation.uncommitted.files.map((file) => file.path)).toEqual(["a.txt"]);
      model.enqueue(DONE, { say: "It is done." });
      expect(await after.resume({ run_id, add_iterations: 1, instructions: ORDER })).toBe("native");
      expect(await after.ended(run_id)).toMatchObject({ state: "done", iteration: 2, max_iterations: 2 });
      expect(lastReceived(model)).toContain(OBJECTIVE);
      expect(lastReceived(model)).toContain(WORDS);
      expect(lastReceived(model)).toContain(ORDER);
      await after.close();
    });

    test("a run whose worker is killed inside a tool call is interrupted, and goes on in the agent's own session", async () => {
      model.clearScript();
      model.enqueue(
        { say: WORDS, call: { tool: "write", path: "a.txt", content: "hello\n" } },
        { call: { tool: "shell", command: "touch inside-the-tool; timeout 100 tail -f /dev/null" } },
      );
      const product = await home.connect();
      const repo = makeRepository(join(home.folder, "killed"));
      const { run_id } = await product.start({ repo, objective: OBJECTIVE, max_iterations: 2, agent: "lane" });
      const { workspace } = await product.status(run_id);
      while (!existsSync(join(workspace.path, "inside-the-tool"))) await sleep(100);
      await home.killWorker();

      const stopped = await product.ended(run_id);
      expect(stopped).toMatchObject({ state: "stopped", stop_reason: "interrupted", resumable: true, iteration: 0 });
      expect((await product.explain(run_id)).cause).toMatchObject({ source: "recovery" });
      // The engine and its command outlived the worker; left alone they would write on beside the resumed run.
      expect(await processesWith(run_id)).toEqual([]);
      model.clearScript();
      model.enqueue(DONE, { say: "It is done." });
      expect(await product.resume({ run_id })).toBe("native");
      expect(await product.ended(run_id)).toMatchObject({ state: "done" });
      expect(lastReceived(model)).toContain(OBJECTIVE);
      expect(lastReceived(model)).toContain(WORDS);
      await product.close();
    });

    test("a provider's refusal stops a run by its true reason, and the session goes on behind it", async () => {
      model.clearScript();
      model.enqueue({ say: WORDS, call: { tool: "write", path: "a.txt", content: "hello\n" } });
      const product = await home.connect();
      const repo = makeRepository(join(home.folder, "refused"));
      refuse(model, "no_credit");
      const { run_id } = await product.start({ repo, objective: OBJECTIVE, max_iterations: 3, agent: "lane" });
      expect(await product.ended(run_id)).toMatchObject({ state: "stopped", stop_reason: "provider_credit", iteration: 0 });
      for (const [fault, reason] of FURTHER_REFUSALS[name]) {
        model.clearScript();
        refuse(model, fault);
        expect(await product.resume({ run_id, at: "now" })).toBe("native");
        expect(await product.ended(run_id)).toMatchObject({ state: "stopped", stop_reason: reason });
      }
      model.clearScript();
      model.enqueue(DONE, { say: "It is done." });
      expect(await product.resume({ run_id, at: "now" })).toBe("native");
      expect(await product.ended(run_id)).toMatchObject({ state: "done" });
      expect(lastReceived(model)).toContain(OBJECTIVE);
      expect(lastReceived(model)).toContain(WORDS);
      await product.close();
    });
  });
}

/** As often as any agent retries by itself. */
function refuse(model: ModelServer, fault: Fault): void {
  for (let time = 0; time < 12; time += 1) model.enqueue({ fault });
}

/** What the model was shown with the latest request. */
function lastReceived(model: ModelServer): string {
  const last = model.mainRequests().at(-1);
  return last === undefined ? "" : saidSoFar(last.conversation);
}
