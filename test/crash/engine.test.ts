import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fileAppears, newProduct } from "../support/product.ts";

/** An engine that is killed where the loop does not look at it, and one that is killed at every turn. */

const product = await newProduct();
const door = await product.connect();

/** A shell command that kills the engine of the run it belongs to, and nothing else. */
const KILL_ENGINE = [
  "for p in /proc/[0-9]*; do",
  'if tr "\\0" "\\n" < $p/environ 2>/dev/null | grep -qx "LOOPKEEPER_RUN_ID=$LOOPKEEPER_RUN_ID"',
  // The shell of this very command names the agent too.
  '&& tr "\\0" " " < $p/cmdline | grep -q "^[^ ]*node .*scripted-agent"; then kill -9 "$(basename $p)"; fi; done; true',
].join(" ");

const edit = (n: number) => [{ edit: { path: "work", content: `${n}` } }];
const done = [{ report: { completed: [], intended: [], verdict: "done" } }];

describe.concurrent("a killed engine", () => {
  test("between two turns is started again with its conversation, and no iteration is lost or counted twice", async () => {
    const { run_id } = await door.start({
      repo: product.box.repo("between"),
      objective: "Lose the engine after every turn",
      agent: product.agent("between", [edit(1), edit(2), [{ recall: true }, ...done]]),
      verify: [KILL_ENGINE],
      max_iterations: 5,
    });
    const run = await door.ended(run_id);
    expect(run).toMatchObject({ state: "done", iteration: 3 });
    expect(run.steps[0]?.attempt).toBe(1);
    const said = await door.text("run_transcript", { run_id, search: "I remember", limit: 5 });
    expect(said).toContain("Lose the engine after every turn");
  });

  test("from outside in the middle of a turn goes on in the same iteration; a second time the run is interrupted and resumes", async () => {
    const { box } = product;
    const { run_id, workspace } = await door.start({
      repo: box.repo("middle"),
      objective: "Lose the engine in the middle",
      agent: product.agent("middle", [
        [{ run: "touch first; sleep 300" }],
        [{ edit: { path: "kept", content: "kept" } }, { run: "touch second; sleep 300" }],
        done,
      ]),
    });
    for (const sign of ["first", "second"]) {
      await fileAppears(join(workspace.path, sign));
      box.sh(workspace.path, `LOOPKEEPER_RUN_ID=${run_id}; ${KILL_ENGINE}`);
    }
    expect(await door.ended(run_id)).toMatchObject({ stop_reason: "interrupted", iteration: 0 });
    expect(product.processesWith(`LOOPKEEPER_RUN_ID=${run_id}`)).toEqual([]);
    expect((await door.call("run_resume", { run_id })).resumed).toMatchObject({ context: "native" });
    expect(await door.ended(run_id)).toMatchObject({ state: "done", iteration: 1 });
  });
});
