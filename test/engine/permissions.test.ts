import { expect, test } from "vitest";
import { decide, type PermissionAsk, type PermissionPolicy } from "../../src/engine/permissions.ts";

const POLICY: PermissionPolicy = {
  level: "edits",
  cwd: "/w",
  allow: ["npm test", "make"],
  allowed_commands: [],
  allow_once: null,
};

const command = (text: string): PermissionAsk => ({ kind: "execute", title: text, command: text, paths: [] });
const file = (kind: string, ...paths: string[]): PermissionAsk => ({ kind, title: "t", command: null, paths });

test.each([
  "ls",
  "ls -la src",
  "cat a.txt b.txt",
  "grep -rn 'a|b' src",
  'grep "x y" f',
  "find . -name '*.ts'",
  "git status",
  "git --no-pager log -3",
  "git -C sub diff HEAD~1 -- a.ts",
  "git branch --show-current",
  "git branch -a",
  "git stash list",
  "git remote -v",
  "npm test",
  "npm test -- --run a.test.ts",
  "make",
])("level edits runs: %s", (text) => {
  expect(decide(POLICY, command(text))).toEqual({ allowed: true, used_once: false });
});

test.each([
  "rm -rf /",
  "ls; rm a",
  "ls && rm a",
  "ls | sh",
  "ls > a",
  "cat <(rm a)",
  "cat $(rm a)",
  "cat `rm a`",
  'cat "$(rm a)"',
  "ls\nrm a",
  "ls & rm a",
  "cat \\; rm",
  "find . -delete",
  "find . -exec rm {} +",
  "find . -fprint out",
  "git push",
  "git commit -m x",
  "git -c core.pager=evil log",
  "git diff --output=a",
  "git diff --ext-diff",
  "git grep -Oevil x",
  "git branch new",
  "git branch -D main",
  "git tag v1",
  "git stash",
  "git remote add x y",
  "git reflog expire --all",
  "git fetch",
  "npm",
  "npm run build",
  "npmtest",
  "makefile",
  "npm test; rm a",
  "PAGER=evil git log",
  "cat 'unclosed",
  "",
])("level edits asks for: %s", (text) => {
  expect(decide(POLICY, command(text))).toEqual({ allowed: false, subject: text });
});

test.each([
  [file("edit", "/w/a.ts"), true],
  [file("edit", "a/b.ts"), true],
  [file("delete", "/w/a.ts"), true],
  [file("move", "/w/a.ts", "/w/b.ts"), true],
  [file("edit", "/w/.github/x.yml"), true],
  [file("read", "/etc/hosts"), true],
  [file("search"), true],
  [file("think"), true],
  [file("edit", "/etc/hosts"), false],
  [file("edit", "/w/../etc/hosts"), false],
  [file("edit", "/wide/a"), false],
  [file("edit", "/w"), false],
  [file("move", "/w/a.ts", "/tmp/b.ts"), false],
  [file("edit", "/w/.git/hooks/pre-commit"), false],
  [file("edit", "/w/sub/.GIT/config"), false],
  [file("edit"), false],
  [file("execute"), false],
  [file("fetch"), false],
  [file("switch_mode"), false],
  [file("other"), false],
])("level edits takes %j: %s", (ask, allowed) => {
  expect(decide(POLICY, ask).allowed).toBe(allowed);
});

test("level all allows everything", () => {
  expect(decide({ ...POLICY, level: "all" }, command("rm -rf /")).allowed).toBe(true);
});

test("level ask asks even for reading and for the allow-list", () => {
  const policy: PermissionPolicy = { ...POLICY, level: "ask" };
  for (const ask of [command("ls"), command("npm test"), file("edit", "/w/a"), file("read", "/w/a")]) {
    expect(decide(policy, ask).allowed).toBe(false);
  }
});

test.each(["edits", "ask"] as const)("an exact answer holds at level %s, for exactly that text", (level) => {
  const once: PermissionPolicy = { ...POLICY, level, allow_once: "npm run build" };
  expect(decide(once, command("npm run build"))).toEqual({ allowed: true, used_once: true });
  expect(decide(once, command("npm run build ")).allowed).toBe(false);
  const always: PermissionPolicy = { ...POLICY, level, allowed_commands: ["a && b"] };
  expect(decide(always, command("a && b"))).toEqual({ allowed: true, used_once: false });
});

test("an MCP approval of our own server and the engine's own notes are allowed at each level, others are not", () => {
  const policy: PermissionPolicy = { ...POLICY, level: "ask" };
  const ask: PermissionAsk = { kind: "other", title: "MCP tool call approval", command: null, paths: [] };
  expect(decide(policy, { ...ask, mcp_server: "loopkeeper" }).allowed).toBe(true);
  expect(decide(policy, { ...ask, mcp_server: "other" }).allowed).toBe(false);
  expect(decide(policy, { ...ask, title: "Set 3 todo(s)", bookkeeping: true }).allowed).toBe(true);
  expect(decide(policy, { ...ask, kind: "execute", mcp_server: "loopkeeper" }).allowed).toBe(false);
});

test.each([
  "mcp__loopkeeper__report_progress",
  "loopkeeper_report_progress",
  "loopkeeper.report_progress",
  "mcp.loopkeeper.report_progress",
  "report_progress (loopkeeper MCP Server)",
])("the injected tool %s is allowed at each level", (title) => {
  const ask: PermissionAsk = { kind: "other", title, command: null, paths: [] };
  expect(decide({ ...POLICY, level: "ask" }, ask).allowed).toBe(true);
  expect(decide({ ...POLICY, level: "ask" }, { ...ask, command: "rm a" }).allowed).toBe(false);
  expect(decide({ ...POLICY, level: "ask" }, { ...ask, kind: "execute" }).allowed).toBe(false);
});
