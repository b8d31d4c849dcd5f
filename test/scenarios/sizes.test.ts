import { expect, test } from "vitest";
import { newProduct } from "../support/product.ts";

/** Replies stay under 8 KB, as text and as structure, whatever a run is made of; what matters is still whole in them. */

const MOST_BYTES = 8_192;

test("long words, names of many bytes, many steps and many conflicts stay under 8 KB in both halves of every answer", async () => {
  const product = await newProduct();
  const door = await product.connect();
  const repo = product.box.repo();
  const name = "ä".repeat(100);
  const many = (count: number, text: string) => Array.from({ length: count }, (_, n) => `${text} ${n} ${"日本語 ".repeat(60)}`);
  const agent = product.agent("wordy", [
    [
      // In place and named by no tool call: nobody's, so each of them is a conflict of a reset.
      { spawn: `for n in $(seq 90); do echo x > "${name}$n"; done; touch .git/done` },
      { run: "while [ ! -e .git/done ]; do sleep 0.1; done" },
      ...Array.from({ length: 20 }, (_, n) => ({ edit: { path: `mine/${name}${n}`, content: "x\n" } })),
      { plan: many(40, "plan").map((content) => [content, "pending"]) },
      { say: "日本語 ".repeat(9_000) },
      {
        report: {
          completed: many(40, "completed"),
          intended: many(40, "intended"),
          midway: "日本語 ".repeat(900),
          verdict: "needs_human",
          question: "日本語? ".repeat(900),
        },
      },
    ],
  ]);
  const steps = Array.from({ length: 40 }, (_, n) => ({
    step: `${"s".repeat(50)}${n}`,
    title: "日本語 ".repeat(40),
    objective: `${"日本語 ".repeat(500)}${n}`,
    verify: [`false ${"y".repeat(400)}`],
  }));
  const settings = { workspace: "in_place", permissions: "all", objective: "日本語 ".repeat(2_000), steps };
  const started = await door.start({ repo, agent, ...settings });
  const { run_id } = await door.ended(started.run_id);

  const calls = [
    ["run_status", { run_id }],
    ["run_explain_stop", { run_id }],
    ["run_transcript", { run_id }],
    ["run_diff", { run_id }],
    ["run_list", {}],
    ["run_resume", { run_id, instructions: "go", dry_run: true }],
    ["run_reset", { run_id }],
  ] as const;
  for (const [tool, args] of calls) {
    expect(Buffer.byteLength(JSON.stringify(await door.call(tool, args))), `${tool}, structured`).toBeLessThan(MOST_BYTES);
    expect(Buffer.byteLength(await door.text(tool, args)), `${tool}, text`).toBeLessThan(MOST_BYTES);
  }
  const { explanation, choices } = await door.call("run_explain_stop", { run_id });
  expect(explanation?.uncommitted).toMatchObject({ total_files: 110, truncated: true });
  expect(choices?.[0]).toMatchObject({ tool: "run_resume", args: { run_id }, needs: ["instructions"] });

  const preview = await door.call("run_reset", { run_id });
  expect(preview.summary).toContain("leave 90 conflicts alone");
  const { reset, ...rest } = await door.call("run_reset", { run_id, confirm_token: preview.confirm_token });
  expect(Buffer.byteLength(JSON.stringify({ reset, ...rest }))).toBeLessThan(MOST_BYTES);
});
