import { describe, expect, it } from "vitest";
import { runCli } from "../../src/cli/cli.ts";
import { ARCHIVED_RUN, FIRST_RUN, SECOND_RUN, TINY_TOOLS, tinyCall } from "../server/support/tiny-tools.ts";

async function run(...words: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCli(words, {
    tools: TINY_TOOLS,
    call: tinyCall,
    cwd: "/here",
    others: { mcp: "Serve MCP on stdio" },
    signal: AbortSignal.abort(),
    screen: { columns: null, colour: false },
    words: async (of) => (of === "agent" ? ["claude", "codex"] : []),
    canAsk: false,
    ask: async () => null,
    page: async (text) => void out.push(text),
    live: null,
    out: (text) => out.push(text),
    err: (text) => err.push(text),
  });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

async function structured(...words: string[]) {
  const { code, out } = await run(...words, "--json");
  return { code, answer: JSON.parse(out) };
}

describe("flags", () => {
  it("come from the tool's schema, with every kind of value", async () => {
    const { code, answer } = await structured(
      "start",
      "fix it",
      "--max-iterations",
      "3",
      "--workspace",
      "in_place",
      "--verify",
      "a",
      "--verify",
      "b",
      "--budget",
      '{"minutes": 5}',
      "--dry-run",
    );
    expect(code).toBe(0);
    expect(answer.args).toEqual({
      repo: "/here",
      objective: "fix it",
      max_iterations: 3,
      workspace: "in_place",
      verify: ["a", "b"],
      budget: { minutes: 5 },
      dry_run: true,
    });
  });

  it("leave the repository to the folder the person stands in, unless it is named", async () => {
    expect((await structured("start", "x", "--repo", "/there")).answer.args.repo).toBe("/there");
  });

  it("never read limits out of the objective", async () => {
    const { answer } = await structured("start", "go on --max-iterations 99");
    expect(answer.args).toMatchObject({ objective: "go on --max-iterations 99", max_iterations: 10 });
  });

  it("take an object as pairs", async () => {
    expect((await structured("start", "x", "--budget", "minutes=5")).answer.args.budget).toEqual({ minutes: 5 });
  });

  it("take a switch off with --no-", async () => {
    expect((await structured("grant", FIRST_RUN, "4", "--no-continue")).answer.args).toEqual({
      run_id: FIRST_RUN,
      iterations: 4,
      continue: false,
    });
  });

  it.each([
    ["an unknown flag", ["wait", FIRST_RUN, "--forever"], "There is no flag --forever"],
    ["a flag that is nearly right", ["start", "x", "--max-iteration", "3"], "Did you mean --max-iterations?"],
    ["a command that is nearly right", ["strat", "x"], "Did you mean start?"],
    ["what is missing", ["grant", FIRST_RUN], "grant needs <iterations>"],
    ["a number that is none", ["grant", FIRST_RUN, "many"], "--iterations takes a number"],
    ["JSON that is none", ["start", "x", "--budget", "lots"], "--budget takes JSON"],
    ["a word too many", ["wait", FIRST_RUN, "now"], '"now" is one word too many'],
    ["an unknown command", ["fly"], 'there is no command "fly"'],
  ])("refuse %s with exit code 1", async (_what, words, text) => {
    const { code, err } = await run(...words);
    expect(code).toBe(1);
    expect(err).toMatch(/^bad_input: /);
    expect(err).toContain(text);
  });
});

describe("a run", () => {
  it.each([
    ["its full id", SECOND_RUN, SECOND_RUN],
    ["@last, the newest one by creation", "@last", SECOND_RUN],
    ["@2, the one before it", "@2", FIRST_RUN],
    ["a beginning on a later page", "run_aaaabb", SECOND_RUN],
    ["a beginning without run_", "aaaaaaaa", FIRST_RUN],
    ["a beginning of an archived run", "ccc", ARCHIVED_RUN],
  ])("is named by %s", async (_what, given, id) => {
    expect((await structured("grant", given, "1")).answer.args.run_id).toBe(id);
  });

  it("is not guessed when a beginning fits several", async () => {
    const { code, err } = await run("wait", "aaaa");
    expect(code).toBe(1);
    expect(err).toContain(FIRST_RUN);
    expect(err).toContain(SECOND_RUN);
  });

  it("is the newest one for a reading command without a run, and never for one that acts", async () => {
    expect((await run("wait")).code).toBe(130);
    expect((await run("reset")).err).toContain("reset needs <run-id>");
  });

  it("is run_not_found when no id begins so", async () => {
    expect((await run("wait", "zzz")).err).toMatch(/^run_not_found: /);
  });
});

describe("the exit code", () => {
  it.each([
    ["0 for an answer", ["list"], 0],
    ["1 for an error", ["start"], 1],
    ["2 for a refusal", ["grant", FIRST_RUN, "13"], 2],
    ["3 for a preview that wants confirmation", ["reset", FIRST_RUN], 3],
    ["0 for a confirmed reset", ["reset", FIRST_RUN, "--confirm-token", "t"], 0],
  ])("is %s", async (_what, words, code) => {
    expect((await run(...words)).code).toBe(code);
  });
});

describe("an error", () => {
  it("names the next command for a person, and keeps its code for a program", async () => {
    const person = await run("grant", FIRST_RUN, "14");
    expect(person.err).toBe("not_allowed: call `loopkeeper grant` again.");
    const program = await run("grant", FIRST_RUN, "14", "--json");
    expect(JSON.parse(program.err)).toEqual({
      error: { code: "not_allowed", message: "busy: call run_grant_iterations again." },
    });
  });
});

describe("help", () => {
  it("lists the commands whose tools are served, and the others", async () => {
    const { code, out } = await run("--help");
    expect(code).toBe(0);
    expect(out).toMatch(/^ {2}mcp +Serve MCP on stdio$/m);
    expect(out).toMatch(/^ {2}grant +Tiny run_grant_iterations$/m);
    expect(out).not.toContain("archive ");
  });

  it("explains one command with its flags", async () => {
    const { out } = await run("start", "--help");
    expect((await run("help", "start")).out).toBe(out);
    expect(out).toContain("Usage: loopkeeper start <objective>");
    expect(out).toContain("--workspace worktree|in_place");
  });
});
