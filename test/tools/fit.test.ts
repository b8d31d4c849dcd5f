import { expect, test } from "vitest";
import { fitAnswer } from "../../src/tools/fit.ts";

const words = "word ".repeat(100);

test("an answer that is small enough stays as it is", () => {
  const answer = { summary: "s", list: Array.from({ length: 50 }, (_, n) => `item ${n}`) };
  expect(fitAnswer(answer)).toEqual(answer);
});

test("a large answer comes below 8,000 characters; ids, paths, choices and literal arguments stay whole", () => {
  const path = `/${"folder/".repeat(20)}file.ts`;
  const choices = [{ tool: "run_resume", args: { run_id: "run_x", expected_revision: 3 }, why: words.slice(0, 200) }];
  const answer = {
    run: { run_id: "run_x", objective: words, path },
    explanation: { completed: Array.from({ length: 40 }, () => ({ what: words, source: "observed" })) },
    choices,
  };
  const fitted = fitAnswer(answer);
  expect(JSON.stringify(fitted).length).toBeLessThanOrEqual(8_000);
  expect(fitted).toMatchObject({ run: { run_id: "run_x", path }, choices });
  expect(JSON.stringify(fitted)).toContain("…");
});
