import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeAll, describe, expect, test } from "vitest";
import { type Door, fileAppears, newProduct } from "../support/product.ts";

/** The conversation of a run survives its agent's own files: a copy is in the store after every iteration. */

const DONE = { report: { completed: [], intended: [], verdict: "done" } };

describe("the copy of a conversation", async () => {
  const product = await newProduct();
  const { box } = product;
  let door: Door;
  beforeAll(async () => {
    door = await product.connect();
  });

  /** A folder of its own for the agent's sessions, so that a test can take them away. */
  function agentWithFolder(name: string, turns: readonly unknown[]): { readonly agent: string; readonly sessions: string } {
    const sessions = join(box.dir, `sessions-${name}`);
    return { agent: product.agent(name, turns, { env: { LOOPKEEPER_SCRIPTED_HOME: sessions } }), sessions };
  }

  test("a run whose agent lost its session files goes on with its conversation, and they are as they were", async () => {
    const { agent, sessions } = agentWithFolder("lost", [[{ say: "WORDS-ONE" }], [{ recall: true }, DONE]]);
    const { run_id } = await door.start({ repo: box.repo("lost"), objective: "OBJECTIVE-LOST", agent, max_iterations: 1 });
    await door.ended(run_id);
    expect((await door.call("run_explain_stop", { run_id })).explanation).toMatchObject({
      context: { engine_session: "available", gaps: [] },
    });
    rmSync(sessions, { recursive: true });
    expect((await door.call("run_explain_stop", { run_id })).explanation).toMatchObject({
      context: { engine_session: "portable_copy", gaps: [] },
    });
    expect((await door.call("run_resume", { run_id, add_iterations: 1 })).resumed).toMatchObject({ context: "native" });
    expect(await door.ended(run_id)).toMatchObject({ state: "done" });
    expect(promptsIn(sessions).match(/"type":"prompt"/gu)).toHaveLength(2);
    expect(promptsIn(sessions)).toContain("OBJECTIVE-LOST");
  });

  test("a worker killed inside a turn leaves the copy of the last iteration, and the recovery takes what the agent wrote since", async () => {
    const marker = join(box.dir, "inside");
    const { agent, sessions } = agentWithFolder("killed", [
      [{ say: "WORDS-ONE" }],
      [{ run: `touch ${marker}` }, { hang: true }],
      [{ recall: true }, DONE],
    ]);
    const { run_id } = await door.start({
      repo: box.repo("killed"),
      objective: "OBJECTIVE-KILLED",
      agent,
      max_iterations: 3,
    });
    await fileAppears(marker);
    await product.killWorker();
    expect(await door.ended(run_id)).toMatchObject({ stop_reason: "interrupted", iteration: 1 });
    rmSync(sessions, { recursive: true });
    expect((await door.call("run_explain_stop", { run_id })).explanation).toMatchObject({
      context: { engine_session: "portable_copy", gaps: [] },
    });
    expect((await door.call("run_resume", { run_id })).resumed).toMatchObject({ context: "native" });
    expect(await door.ended(run_id)).toMatchObject({ state: "done" });
    // The prompt of the cut-off turn is only in what was taken at the recovery; the third is that of the resume.
    expect(promptsIn(sessions).match(/"type":"prompt"/gu)).toHaveLength(3);
    expect(promptsIn(sessions)).toContain("OBJECTIVE-KILLED");
  });

  test("a copy that cannot be made fails no iteration, and the explanation names it", async () => {
    const { agent } = agentWithFolder("fault", [[{ say: "WORDS-ONE" }], [{ say: "WORDS-TWO" }], [DONE]]);
    const database = new Database(join(product.home, "loopkeeper.db"));
    database.exec("create trigger no_parts before insert on artifacts begin select raise(abort, 'no parts'); end");
    const { run_id } = await door.start({ repo: box.repo("fault"), objective: "O", agent, max_iterations: 2 });
    expect(await door.ended(run_id)).toMatchObject({ iteration: 2, stop_reason: "max_iterations" });
    expect((await door.call("run_explain_stop", { run_id })).explanation).toMatchObject({
      context: {
        gaps: [
          expect.stringContaining("no copy of the conversation after iteration 2"),
          expect.stringContaining("no copy of the working tree"),
        ],
      },
    });
    database.exec("drop trigger no_parts");
    database.close();
    await door.call("run_resume", { run_id, add_iterations: 1 });
    expect(await door.ended(run_id)).toMatchObject({ state: "done" });
    expect((await door.call("run_explain_stop", { run_id })).explanation).toMatchObject({ context: { gaps: [] } });
  });

  test("of a store that nobody gave a key, only this user can read a byte", () => {
    expect(statSync(product.home).mode & 0o077).toBe(0);
    const files = readdirSync(product.home).filter((name) => name.startsWith("loopkeeper.db"));
    expect(files).toContain("loopkeeper.db");
    for (const name of files) expect(statSync(join(product.home, name)).mode & 0o177).toBe(0);
  });
});

/** All prompts that the session's file holds. */
function promptsIn(sessions: string): string {
  const [file = "", ...more] = readdirSync(sessions);
  expect(more).toEqual([]);
  return readFileSync(join(sessions, file), "utf8");
}
