import { expect, test } from "vitest";
import { everSmaller, fits, jsonBytes } from "../../src/tools/fit.ts";

const words = "word ".repeat(100);

/** As a tool answers: the first size that fits, with a text as long as the structure. */
function fitted(answer: Record<string, unknown>): Record<string, unknown> {
  for (const smaller of [answer, ...everSmaller(answer)])
    if (fits({ structured: smaller, text: JSON.stringify(smaller) })) return smaller;
  throw new Error("nothing fits");
}

test("an answer that is small enough stays as it is", () => {
  const answer = { summary: "s", list: Array.from({ length: 50 }, (_, n) => `item ${n}`) };
  expect(fitted(answer)).toEqual(answer);
});

test("a large answer comes below 8,000 bytes; ids, paths, choices and literal arguments stay whole", () => {
  const path = `/${"folder/".repeat(20)}file.ts`;
  const choices = [{ tool: "run_resume", args: { run_id: "run_x", expected_revision: 3 }, why: words.slice(0, 200) }];
  const answer = {
    run: { run_id: "run_x", objective: words, path },
    explanation: { completed: Array.from({ length: 40 }, () => ({ what: words, source: "observed" })) },
    choices,
  };
  const small = fitted(answer);
  expect(jsonBytes(small)).toBeLessThanOrEqual(8_000);
  expect(small).toMatchObject({ run: { run_id: "run_x", path }, choices });
  expect(JSON.stringify(small)).toContain("…");
});

test("bytes count, not characters; what is left whole at first is cut before the cap is broken, and says how much is left out", () => {
  const files = Array.from({ length: 15 }, (_, n) => ({ path: `${"日本".repeat(70)}${n}`, status: "added" }));
  const args = { run_id: "run_x", step: "s".repeat(60), expected_revision: 3 };
  const answer = {
    explanation: {
      cause: { evidence: "日本 語".repeat(130) },
      uncommitted: { total_files: 15, truncated: false, files },
      files_changed: files.map((file) => file.path),
    },
    consequences: { undoes: Array.from({ length: 40 }, (_, n) => `removes ${n}`), conflicts: files },
    choices: Array.from({ length: 12 }, () => ({ tool: "run_redo", args, why: words.slice(0, 200) })),
  };
  const small = fitted(answer);
  expect(small).toMatchObject({
    explanation: { uncommitted: { total_files: 15, truncated: true } },
    choices: Array.from({ length: 12 }, () => ({ tool: "run_redo", args })),
  });
  expect(small["consequences"]).toMatchObject({ undoes: expect.arrayContaining([expect.stringMatching(/^… and \d+ more$/u)]) });
});

test("a page that was made to fit is never cut", () => {
  const answer = { run: { objective: words.repeat(20) }, entries: [{ text: words }], patch: words, next_cursor: "after-9" };
  expect(fitted(answer)).toMatchObject({ entries: answer.entries, patch: words, next_cursor: "after-9" });
});
