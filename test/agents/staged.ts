import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sleep } from "../../src/run/clock.ts";
import { type AgentName, hermeticLaunch } from "./launch.ts";
import { saidSoFar } from "./model-server/conversation.ts";
import type { Reply } from "./model-server/script.ts";
import { startModelServer } from "./model-server/server.ts";
import { makeProductHome } from "./support/product.ts";
import { makeRepository } from "./support/repository.ts";

const STEPS = [
  { step: "one", objective: "Write one.txt" },
  { step: "two", objective: "Write two.txt", needs: ["one"] },
  { step: "three", objective: "Write three.txt", needs: ["two"] },
];

const writes = (step: string, content: string): Reply[] => [
  { call: { tool: "write", path: `${step}.txt`, content } },
  { call: { tool: "report", report: { completed: [`${step} is written`], intended: [], verdict: "done" } } },
  { say: "It is done." },
];

/** Seven starts of an agent one after the other. */
const TIMEOUT_MS = 600_000;

/** A run of three steps with a real agent: each step in a session of its own. */
export function agentStaged(name: AgentName): void {
  test(
    `three steps of ${name}: stopped in the second, resumed, and the first done again`,
    async () => {
      const folder = await mkdtemp(join(tmpdir(), `steps-${name}-`));
      const model = await startModelServer({ script: [] });
      const home = await makeProductHome(folder, {
        lane: await hermeticLaunch(name, { home: join(folder, "home"), port: model.port }),
      });
      try {
        const product = await home.connect();
        model.enqueue(...writes("one", "first\n"));
        model.enqueue({ call: { tool: "shell", command: "touch in-two; timeout 100 tail -f /dev/null" } });
        const repo = makeRepository(join(folder, "repo"));
        const { run_id, workspace } = await product.start({ repo, objective: "STAGED", steps: STEPS, agent: "lane" });
        const text = (step: string): Promise<string> => readFile(join(workspace.path, `${step}.txt`), "utf8");
        while (!existsSync(join(workspace.path, "in-two"))) await sleep(100);
        const stopped = await product.stopped(run_id);
        expect(stopped).toMatchObject({ state: "stopped", stop_reason: "cancelled", iteration: 1 });
        expect(stopped.steps.map((step) => [step.state, step.attempt])).toEqual([
          ["succeeded", 1],
          ["stopped", 1],
          ["pending", 0],
        ]);

        model.clearScript();
        model.enqueue(...writes("two", "second\n"), ...writes("three", "third\n"));
        expect(await product.resume({ run_id })).toBe("native");
        const done = await product.ended(run_id);
        expect(done).toMatchObject({ state: "done", iteration: 3 });
        expect(done.steps.map((step) => step.attempt)).toEqual([1, 2, 1]);
        const last = model.mainRequests().at(-1);
        expect(last === undefined ? "" : saidSoFar(last.conversation)).toMatch(
          /THIS STEP \(three[\s\S]*- one: succeeded[\s\S]*one reported: one is written/u,
        );

        model.clearScript();
        model.enqueue(...writes("one", "first again\n"), ...writes("two", "second\n"), ...writes("three", "third\n"));
        const { reset, redone } = await product.redo(run_id, "one");
        expect(redone).toEqual({ step: "one", attempt: 2, reopened_steps: ["one", "two", "three"] });
        expect(reset.removed).toEqual(expect.arrayContaining(["one.txt", "two.txt", "three.txt"]));
        const again = await product.ended(run_id);
        expect(again).toMatchObject({ state: "done", iteration: 6 });
        expect(again.steps.map((step) => step.attempt)).toEqual([2, 3, 2]);
        expect([await text("one"), await text("two"), await text("three")]).toEqual(["first again\n", "second\n", "third\n"]);
        await product.close();
      } finally {
        await home.killEverything();
        await model.stop();
        await rm(folder, { recursive: true, force: true });
      }
    },
    TIMEOUT_MS,
  );
}
