import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { logOf, openParts } from "../app.ts";
import type { Config } from "../config.ts";
import { killProcess } from "../engine/process.ts";
import { newToken } from "../run/id.ts";
import { connectClient, type StoryAnswer, type StoryClient } from "../server/client.ts";
import { CHECK, OBJECTIVE, REPOSITORY_FILES, writeScript } from "./script.ts";
import { explanationLines, said } from "./tell.ts";

/**
 * `loopkeeper demo`: the main job from start to done in a small repository of its own. Everything in it is real - the MCP
 * client and server, the worker, git, the agent over ACP - only the scripted agent's decisions are written down beforehand.
 */
export async function runDemo(config: Config, words: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...words], options: { agent: { type: "string" }, keep: { type: "boolean" } } });
  const agent = values.agent ?? "scripted";
  const place = await preparePlace(config);
  const open = new Set<StoryClient>();
  try {
    await tellStory({ ...place, open }, agent);
    return 0;
  } finally {
    for (const client of open) await client.close();
    await killWorkers(place);
    if (values.keep === true) said(`Kept: ${place.folder}`);
    else await rm(place.folder, { recursive: true, force: true });
  }
}

interface Place {
  readonly folder: string;
  readonly repo: string;
  readonly config: Config;
  readonly env: Readonly<Record<string, string>>;
}

/** The place and the clients that are connected to it: a story that breaks off must not leave a server behind. */
interface Stage extends Place {
  readonly open: Set<StoryClient>;
}

async function tellStory(place: Stage, agent: string): Promise<void> {
  said("1. A small git repository with a failing test, and a loop that may take 2 iterations:");
  let client = await connect(place);
  const started = await client.call("coding_loop_start", {
    repo: place.repo,
    objective: OBJECTIVE,
    agent,
    max_iterations: agent === "scripted" ? 2 : 1,
    verify: [CHECK],
  });
  const { run_id } = started.run;
  said(`   ${started.summary}`);
  const stopped = await waitUntilStopped(client, run_id);
  said(`2. It stopped: ${stopped.summary}`);
  if (stopped.run.state === "done") return tellDone(place, client, stopped);
  const explained = await client.call("run_explain_stop", { run_id });
  said("3. Why, from the record alone - no agent was woken:", ...explanationLines(explained.explanation));
  await disconnect(place, client);
  await killWorkers(place);
  said("4. Every process of Loopkeeper was killed. A new server knows the run all the same:");
  client = await connect(place);
  said(`   ${(await client.call("run_status", { run_id })).summary}`);
  const granted = await client.call("run_grant_iterations", { run_id, iterations: 3, continue: false, request_id: newToken() });
  said(`5. Granted: ${granted.run.iteration} of ${granted.run.max_iterations} iterations are used now.`);
  const resumed = await client.call("run_resume", {
    run_id,
    instructions: "Also strip apostrophes without leaving a dash, then commit.",
    request_id: newToken(),
  });
  said(
    `6. Resumed with an instruction; the agent has its own conversation back: context "${resumed.resumed?.context ?? "pending"}".`,
  );
  await tellDone(place, client, await waitUntilStopped(client, run_id));
}

async function tellDone(place: Stage, client: StoryClient, ended: StoryAnswer): Promise<void> {
  const { run } = ended;
  said(`7. ${ended.summary}`);
  const check = await shell(place, `${CHECK} && git log --oneline -3`, run.workspace.path);
  said(
    `   $ ${CHECK} (in the run's worktree) -> exit ${check.exit_code ?? "none"}`,
    ...check.tail
      .trim()
      .split("\n")
      .map((line) => `     ${line}`),
  );
  const status = await client.call("run_status", { run_id: run.run_id });
  if (status.take_over != null) said("8. To take the work over:", ...status.take_over.commands.map((command) => `   ${command}`));
  await disconnect(place, client);
  if (run.state !== "done" || check.exit_code !== 0)
    throw new Error(`the demo did not end as it should: the run is ${run.state} (${run.stop_reason ?? "no reason"})`);
}

async function waitUntilStopped(client: StoryClient, runId: string): Promise<StoryAnswer> {
  for (;;) {
    const answer = await client.call("run_wait", { run_id: runId, timeout_s: 40 });
    if (answer.timed_out !== true) return answer;
  }
}

async function preparePlace(config: Config): Promise<Place> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "loopkeeper-demo-")));
  const repo = join(folder, "slugs");
  const script = join(folder, "script.json");
  const home = join(folder, "home");
  await writeScript(script);
  for (const [path, content] of Object.entries(REPOSITORY_FILES)) {
    await mkdir(dirname(join(repo, path)), { recursive: true });
    await writeFile(join(repo, path), content);
  }
  const { LOOPKEEPER_DATABASE_URL: _, LOOPKEEPER_RUN_ID: __, ...inherited } = config.env;
  const env = {
    ...inherited,
    LOOPKEEPER_HOME: home,
    LOOPKEEPER_SCRIPT: script,
    LOOPKEEPER_SCRIPTED_HOME: join(folder, "scripted"),
    LOOPKEEPER_LOG: "error",
  };
  const place = { folder, repo, env, config: { ...config, home, database_url: null, env, inside_run: null, log_level: "error" } };
  const made = await shell(
    place,
    "git init -q -b main && git add -A && git -c user.name=Demo -c user.email=demo@localhost commit -q -m 'A test that fails'",
    repo,
  );
  if (made.exit_code !== 0) throw new Error(`the demo's repository could not be made: ${made.tail}`);
  return place;
}

async function connect(place: Stage): Promise<StoryClient> {
  const { self } = place.config;
  const client = await connectClient({ command: self.command, args: self.args, env: place.env, cwd: place.folder });
  place.open.add(client);
  return client;
}

async function disconnect(place: Stage, client: StoryClient): Promise<void> {
  place.open.delete(client);
  await client.close();
}

async function shell(
  place: Place,
  command: string,
  cwd: string,
): Promise<{ readonly exit_code: number | null; readonly tail: string }> {
  const parts = await openParts(place.config, logOf(place.config, "demo"));
  try {
    return await parts.engines.runCommand({ command, cwd, run_id: "demo", nonce: newToken(), timeout_s: 60 });
  } finally {
    await parts.store.close();
  }
}

/** What a reboot would do, done without mercy: SIGKILL to every worker of the demo's own home. */
async function killWorkers(place: Place): Promise<void> {
  const parts = await openParts(place.config, logOf(place.config, "demo"));
  for (const worker of await parts.store.workers()) killProcess(worker.identity.pid);
  await parts.store.close();
}
