import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findRunId } from "./cli/find-run.ts";
import { parseWords } from "./command-words.ts";
import type { Config } from "./config.ts";
import { writePage } from "./console-page.ts";
import { findCommand } from "./engine/find-command.ts";
import { launchDetached } from "./engine/launch-detached.ts";
import { monotonicMs, sleep } from "./run/clock.ts";
import { LoopkeeperError } from "./run/errors.ts";
import { DEFAULT_PORT, findPlace, isFree } from "./serve-place.ts";
import { serveToken } from "./serve-token.ts";
import { Sessions } from "./server/auth.ts";
import type { Caller } from "./tools/context.ts";
import { TOOLS } from "./tools/index.ts";
import type { CallTool } from "./tools/runtime.ts";

const HELP = `Usage: loopkeeper open [<run>] [--print]

Opens the console in the browser, at a run if one is named (its id, a beginning of it, @last). Finds the loopkeeper serve of this
home, or starts one in the background, which ends by itself when nobody has used it for two hours (open_idle_minutes).

  --print   only print the address, which holds the token

Examples:
  loopkeeper open
  loopkeeper open @last --print
`;

const OPTIONS = { print: { type: "boolean" }, help: { type: "boolean", short: "h" } } as const;

/** How long a serve may take to listen. */
const START_MS = 30_000;

/** `loopkeeper open`. Resolves to the exit code. */
export async function runOpenCommand(config: Config, words: readonly string[], call: CallTool): Promise<number> {
  const { values, positionals } = parseWords({ args: [...words], options: OPTIONS, allowPositionals: true }, HELP);
  if (values.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  const [name, ...more] = positionals;
  if (more.length > 0) throw new LoopkeeperError("bad_input", `open takes one run.\n${HELP}`);
  const run = name === undefined ? null : await runNamed(name, config, call);
  const { url, started } = await place(config);
  const { token } = serveToken(config.home, config.token);
  const page = `${url}${run === null ? "/" : `/runs/${run}`}`;
  const address = `${page}#token=${token}`;
  if (values.print === true) {
    process.stdout.write(`${address}\n`);
    return 0;
  }
  if (started !== null)
    process.stderr.write(
      `Loopkeeper serves in the background now (process ${started}), until nobody has used it for ${config.open_idle_minutes} minutes; kill ${started} ends it.\n`,
    );
  const opened = await openBrowser(config, page, token);
  process.stdout.write(opened ? `Opened ${url}. If no browser came up: ${address}\n` : `Open this in a browser: ${address}\n`);
  return 0;
}

async function runNamed(name: string, config: Config, call: CallTool): Promise<string> {
  const caller: Caller = { audience: "shell", signal: new AbortController().signal, progress: () => undefined };
  const named = (tool: string) => TOOLS.find((candidate) => candidate.name === tool);
  const id = await findRunId(name, { list: named("run_list"), call, caller, cwd: config.cwd });
  const status = named("run_status");
  const answer = status === undefined ? null : await call(status, { run_id: id }, caller);
  if (answer?.ok === false) throw new LoopkeeperError(answer.code, answer.text.replace(/^\w+: /u, ""));
  return id;
}

/** The serve that runs; else one is started, at its usual port if that is free. */
async function place(config: Config): Promise<{ readonly url: string; readonly started: number | null }> {
  const there = await findPlace(config);
  if (there !== null && (await answers(there.url))) return { url: there.url, started: null };
  const log = join(config.home, "logs", "serve.log");
  mkdirSync(join(config.home, "logs"), { recursive: true, mode: 0o700 });
  const more = ["--idle-minutes", String(config.open_idle_minutes), ...((await isFree(DEFAULT_PORT)) ? [] : ["--port", "0"])];
  const { command, args } = config.self;
  launchDetached({ command, args: [...args, "serve", ...more], cwd: config.home, env: config.env, log_file: log });
  const begun = monotonicMs();
  while (monotonicMs() - begun < START_MS) {
    await sleep(150);
    const found = await findPlace(config);
    if (found !== null && found.pid !== there?.pid) return { url: found.url, started: found.pid };
  }
  throw new LoopkeeperError("internal", `loopkeeper serve did not come up. Its log: ${log}. Start it yourself: loopkeeper serve`);
}

/** One that is ending answers no more. One that is not is kept from ending by the question. */
function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

/** False: there is no program that opens one. */
async function openBrowser(config: Config, page: string, token: string): Promise<boolean> {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const command = await findCommand(program, config.env["PATH"] ?? "", config.cwd);
  if (command === null) return false;
  const ticket = new Sessions(token).ticket();
  const file = writePage(config.home, ticket.name, `${page}#token=${ticket.text}`);
  launchDetached({
    command,
    args: [pathToFileURL(file).href],
    cwd: config.home,
    env: config.env,
    log_file: join(config.home, "logs", "open.log"),
  });
  return true;
}
