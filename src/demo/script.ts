import { writeFile } from "node:fs/promises";

/** The small task of the demo: a repository with a failing test, and what the scripted agent does about it. */

export const OBJECTIVE =
  "Make `node test.mjs` pass: src/slug.mjs must turn a title into a URL slug (lower case, words joined by one dash, no other signs).";
export const CHECK = "node test.mjs";

const TEST = `import assert from "node:assert/strict";
import { slug } from "./src/slug.mjs";

assert.equal(slug("Hello World"), "hello-world");
assert.equal(slug("  What's new, in 2026?  "), "whats-new-in-2026");
assert.equal(slug(""), "");
console.log("3 checks passed");
`;

const BROKEN = `export function slug(title) {
  return title;
}
`;

const HALF = `export function slug(title) {
  const words = title.toLowerCase().split(" ");
  // half written: signs and empty words are still in
  return words.join("-");
}
`;

const WHOLE = `export function slug(title) {
  const words = title.toLowerCase().replaceAll("'", "").match(/[a-z0-9]+/gu) ?? [];
  return words.join("-");
}
`;

export const REPOSITORY_FILES = { "test.mjs": TEST, "src/slug.mjs": BROKEN } as const;

const plan = (first: string, second: string) => ({
  plan: [
    ["read the test", first],
    ["write src/slug.mjs", second],
    ["commit", "pending"],
  ],
});

/** What the scripted agent plays: two turns that leave the work half-written, and the one that finishes it after the resume. */
const SCRIPT = {
  turns: [
    [
      { think: "Let me see what the test wants." },
      plan("in_progress", "pending"),
      { run: "cat test.mjs" },
      { say: "The test wants lower case, one dash between words and no other signs." },
      { report: { completed: ["read the test"], intended: ["write src/slug.mjs", "commit"] } },
    ],
    [
      plan("completed", "in_progress"),
      { edit: { path: "src/slug.mjs", content: HALF } },
      { say: "Lower case and dashes are in; signs and empty words come next." },
      {
        report: {
          completed: ["read the test"],
          midway: "src/slug.mjs: signs and empty words are still in",
          intended: ["strip other signs", "commit"],
        },
      },
    ],
    [
      { recall: true },
      { edit: { path: "src/slug.mjs", content: WHOLE } },
      { run: "node test.mjs" },
      { commit: "Turn titles into slugs" },
      {
        report: {
          completed: ["src/slug.mjs", "the test passes"],
          intended: [],
          verdict: "done",
          summary: "slug() passes its test and is committed.",
        },
      },
    ],
  ],
};

export async function writeScript(path: string): Promise<void> {
  await writeFile(path, JSON.stringify(SCRIPT, null, 2));
}
