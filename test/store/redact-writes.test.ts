import { expect, test } from "vitest";
import { AT, aNewRun, anEntry, aStop } from "../support/records.ts";
import { backends, newStore } from "../support/stores.ts";

const TOKEN = `${"gh"}p_${"a1B2".repeat(9)}`;
const PASSED = "DB_PASSWORD=hunter2";

test.each(backends)(
  "everything that is written to %s loses its credentials, at any depth, and handles stay exact",
  async (backend) => {
    const store = await newStore(backend);
    const made = aNewRun({ objective: `Use ${TOKEN}`, repo_path: `/repo/${TOKEN}`, branch: `fix/${TOKEN}` });
    const { run_id, owner } = await store.createRun({
      ...made,
      steps: made.steps.map((step) => ({ ...step, verify: [`${PASSED} npm test ${TOKEN}`] })),
      request: {
        owner: made.run.owner,
        request_id: "r1",
        tool: "coding_loop_start",
        args_hash: "h",
        run_id: made.run.run_id,
        answer: JSON.stringify({ told: `export A_PASSWORD="x y z" and ${TOKEN}` }),
        at: AT,
      },
    });
    await store.apply({
      run_id,
      at: AT,
      bump_revision: true,
      run: {
        stop: aStop({ evidence: TOKEN, open_tool_calls: [PASSED] }),
        last_words: TOKEN,
        plan: [{ content: TOKEN, status: "pending" }],
      },
      events: [{ type: "iteration_started", at: AT, data: { mark: JSON.stringify({ refs: { [`refs/heads/${TOKEN}`]: "1" } }) } }],
      acts: [{ kind: "commit", what: `Add ${TOKEN}`, ref: "c".repeat(40), iteration: 1, at: AT, status: "landed" }],
      journal: [anEntry(TOKEN)],
    });
    await store.appendJournal({
      run_id,
      fence: 0,
      at: AT,
      entries: [{ ...anEntry("two"), data: { deep: [{ text: `x ${PASSED}` }] } }],
    });

    const run = await store.run(run_id, owner);
    const all = JSON.stringify([
      { ...run, repo_path: "" },
      await store.steps(run_id),
      await store.events(run_id, { limit: 50 }),
      await store.acts(run_id, 50),
      await store.journal(run_id, { limit: 50 }),
      await store.findRequest(owner, "r1"),
    ]);
    expect(all).not.toContain(TOKEN);
    expect(all.replaceAll(`${PASSED} npm test`, "")).not.toContain("hunter2");
    expect(run).toMatchObject({ objective: "Use [redacted: github-token]", repo_path: `/repo/${TOKEN}`, branch: null });
    expect((await store.steps(run_id))[0]?.verify).toEqual([`${PASSED} npm test [redacted: github-token]`]);
    expect(JSON.parse((await store.findRequest(owner, "r1"))?.answer ?? "")).toEqual({
      told: 'export A_PASSWORD="[redacted: password]" and [redacted: github-token]',
    });
  },
);
