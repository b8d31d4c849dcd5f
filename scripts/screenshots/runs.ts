import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { connectClient } from "../../src/server/client.ts";

/** Real runs of the scripted agent in small repositories, one for each thing that a picture of the console shows. */

const BIN = join(import.meta.dirname, "../../dist/bin/loopkeeper.js");

export interface Stage {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Run ids by the name of their story. */
  readonly runs: Readonly<Record<string, string>>;
}

interface Story {
  readonly repo: string;
  readonly objective: string;
  readonly turns: readonly unknown[];
  readonly args?: Readonly<Record<string, unknown>>;
  /** What the picture waits for. */
  readonly until: "ended" | "running";
}

const code = (name: string, lines: number): string =>
  Array.from({ length: lines }, (_, n) => `export const ${name}${n} = ${n};`)
    .join("\n")
    .concat("\n");

const cost = (dollars: number) => ({ usage: { input: 31_000, output: 2_400, cost: dollars } });

const STORIES: Readonly<Record<string, Story>> = {
  docs: {
    repo: "handbook",
    objective: "Describe every flag of the import command in the handbook",
    args: { max_iterations: 5 },
    until: "ended",
    turns: [
      [
        { edit: { path: "docs/import.md", content: "# Import\n\n--dry-run: reads and writes nothing.\n" } },
        cost(0.12),
        { commit: "Describe the import command" },
        { report: { completed: ["docs/import.md"], intended: [], verdict: "done", summary: "All nine flags are described." } },
      ],
    ],
  },
  failed: {
    repo: "billing",
    objective: "Replace the rounding helper by the decimal library",
    args: { max_iterations: 6 },
    until: "ended",
    turns: [
      [
        { edit: { path: "src/round.js", content: "export const round = (n) => n;\n" } },
        cost(0.22),
        {
          report: {
            completed: [],
            midway: "src/round.js",
            intended: ["replace the callers"],
            verdict: "blocked",
            summary: "The decimal library needs a newer Node than this repository allows.",
          },
        },
      ],
    ],
  },
  question: {
    repo: "billing",
    objective: "Compute VAT for orders that were placed before the new rates",
    args: { max_iterations: 10 },
    until: "ended",
    turns: [
      [
        {
          plan: [
            ["read the tax tables", "completed"],
            ["compute by order date", "in_progress"],
          ],
        },
        { edit: { path: "src/vat.js", content: code("rate", 12) } },
        cost(0.31),
        {
          report: {
            completed: ["read both tables"],
            midway: "src/vat.js: rates by date",
            intended: ["a test for the turn of the year"],
            verdict: "needs_human",
            question: "Which of the two tax tables applies to orders placed in 2023 and shipped in 2024?",
          },
        },
      ],
    ],
  },
  permission: {
    repo: "web",
    objective: "Publish the patched date picker and use it",
    args: { max_iterations: 8, permissions: "edits" },
    until: "ended",
    turns: [
      [{ say: "The package has to be published first." }, cost(0.18), { run: { command: "npm publish --tag next", ask: true } }],
    ],
  },
  limit: {
    repo: "web",
    objective: "Move the settings page to the new form components",
    args: { max_iterations: 20 },
    until: "ended",
    turns: [
      [
        { edit: { path: "src/settings.js", content: code("field", 30) } },
        cost(0.9),
        { report: { completed: ["profile form"], midway: "the billing form", intended: ["the team form"] } },
      ],
      [{ edit: { path: "src/team.js", content: code("team", 8) } }, { fail: { kind: "usage_limit", resets: "in 42 minutes" } }],
    ],
  },
  waiting: {
    repo: "search",
    objective: "Index product reviews in every language",
    args: { max_iterations: 12, auto_resume: { reasons: ["engine_limit"], times: 3 } },
    until: "ended",
    turns: [
      [
        { edit: { path: "src/index.js", content: code("index", 9) } },
        cost(0.44),
        { fail: { kind: "usage_limit", resets: "in 90 minutes" } },
      ],
    ],
  },
  ceiling: {
    repo: "shop-api",
    objective: "Make the import resumable: after a crash it goes on where it was, without importing a row twice",
    args: { max_iterations: 4, verify: ["test -f test/import.test.js"] },
    until: "ended",
    turns: [
      [
        { think: "Where does the import keep its place?" },
        {
          plan: [
            ["keep the place in a table", "in_progress"],
            ["skip rows that are in", "pending"],
            ["test a crash", "pending"],
            ["document the flag", "pending"],
          ],
        },
        { run: "ls src" },
        { edit: { path: "src/place.js", content: code("place", 24) } },
        { commit: "Keep the place of an import in a table" },
        cost(0.41),
        {
          report: { completed: ["the place is kept"], midway: "skipping rows", intended: ["test a crash", "document the flag"] },
        },
      ],
      [
        { edit: { path: "src/import.js", content: code("row", 40) } },
        { commit: "Skip rows that were imported before" },
        cost(0.52),
        {
          report: {
            completed: ["the place is kept", "rows are skipped"],
            midway: "the retry test",
            intended: ["document the flag"],
          },
        },
      ],
      [
        {
          plan: [
            ["keep the place in a table", "completed"],
            ["skip rows that are in", "completed"],
            ["test a crash", "in_progress"],
            ["document the flag", "pending"],
          ],
        },
        { edit: { path: "test/helpers/crash.js", content: code("crash", 14) } },
        { edit: { path: "src/import.js", append: "export const retry = true;\n" } },
        cost(0.47),
        {
          report: {
            completed: ["the place is kept", "rows are skipped"],
            midway: "the retry test (test/import.test.js)",
            intended: ["document the flag"],
          },
        },
      ],
      [
        { edit: { path: "test/retry.test.js", content: code("check", 120) } },
        {
          say: "The retry test fails on the second crash: the place is written before the row. I was about to turn the order round.",
        },
        cost(0.44),
        {
          report: {
            completed: ["the place is kept", "rows are skipped"],
            midway: "the retry test (test/import.test.js)",
            intended: ["turn the order of the two writes round", "document the flag"],
          },
        },
      ],
    ],
  },
  running: {
    repo: "tools",
    objective: "Port the command line to ES modules",
    args: {
      max_iterations: 20,
      steps: [
        { step: "survey", objective: "List every require" },
        { step: "port", title: "Port the sources", objective: "Turn require into import", needs: ["survey"] },
        { step: "release", objective: "Prepare the release", needs: ["port"] },
      ],
    },
    until: "running",
    turns: [
      { when: "List every require", do: [cost(0.2), { report: { completed: ["the list"], intended: [], verdict: "done" } }] },
      {
        when: "Turn require into import",
        do: [
          {
            plan: [
              ["src/args.js", "completed"],
              ["src/cli.js", "in_progress"],
              ["test/", "pending"],
            ],
          },
          { edit: { path: "src/args.js", content: code("flag", 20) } },
          { think: "The tests import by path; that stays." },
          cost(0.33),
          { edit: { path: "src/cli.js", content: code("command", 40) } },
          { say: "src/cli.js is ported; the tests come next." },
          { run: { command: "sleep 900", title: "npm test" } },
        ],
      },
    ],
  },
};

/** Starts every story and waits until each shows what it is there for. */
export async function makeStage(): Promise<Stage> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "loopkeeper-pictures-")));
  const home = join(folder, "home");
  mkdirSync(home);
  const env = {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: home,
    LC_ALL: "C",
    LOOPKEEPER_HOME: join(folder, "loopkeeper"),
    LOOPKEEPER_CONFIG: join(folder, "config.json"),
    LOOPKEEPER_SCRIPTED_HOME: join(folder, "scripted"),
  };
  writeFileSync(join(home, ".gitconfig"), "[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n");
  const agents = Object.fromEntries(
    Object.entries(STORIES).map(([name, story]) => [`${name}-agent`, agent(folder, name, story)]),
  );
  writeFileSync(env.LOOPKEEPER_CONFIG, JSON.stringify({ fetch_remote: false, agents }));
  const client = await connectClient({ command: process.execPath, args: [BIN], env, cwd: folder });
  const runs: Record<string, string> = {};
  for (const [name, story] of Object.entries(STORIES)) {
    const { run } = await client.call("coding_loop_start", {
      repo: repository(folder, story.repo, env),
      objective: story.objective,
      agent: `${name}-agent`,
      brief: "none",
      ...story.args,
    });
    runs[name] = run.run_id;
  }
  for (const [name, story] of Object.entries(STORIES)) {
    if (story.until === "ended") await client.call("run_wait", { run_id: runs[name], timeout_s: 120 });
  }
  await client.close();
  return { folder, env, runs };
}

function agent(folder: string, name: string, story: Story) {
  const script = join(folder, `${name}.json`);
  writeFileSync(script, JSON.stringify({ turns: story.turns }));
  return { command: process.execPath, args: [BIN, "scripted-agent", "--script", script], profile: "scripted" };
}

function repository(folder: string, name: string, env: Readonly<Record<string, string>>): string {
  const top = join(folder, name);
  const git = (...args: string[]) => execFileSync("git", args, { cwd: top, env, stdio: ["ignore", "ignore", "pipe"] });
  try {
    mkdirSync(top);
  } catch {
    return top;
  }
  git("init", "-q");
  for (const [path, text] of Object.entries({ "README.md": `# ${name}\n`, "src/main.js": code("main", 30) })) {
    mkdirSync(dirname(join(top, path)), { recursive: true });
    writeFileSync(join(top, path), text);
  }
  git("add", ".");
  git("commit", "-qm", "Begin");
  return top;
}

/** `loopkeeper serve` over the stage's home. */
export async function serve(
  env: Readonly<Record<string, string>>,
): Promise<{ readonly url: string; readonly login: string; stop(): void }> {
  const child = spawn(process.execPath, [BIN, "serve", "--port", "0", "--json"], { env, stdio: ["ignore", "pipe", "inherit"] });
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once("data", (bytes: Buffer) => resolve(bytes.toString()));
    child.once("exit", () => reject(new Error("loopkeeper serve ended before it listened")));
  });
  const told: { url: string; login_url: string } = JSON.parse(line);
  return { url: told.url, login: told.login_url, stop: () => void child.kill("SIGTERM") };
}
