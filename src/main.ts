import { readConfig } from "./config.ts";
import { LoopkeeperError, messageOf } from "./run/errors.ts";

/** Commands that are no tools, with what each does; every tool is a command too. */
const COMMANDS = {
  mcp: "serve MCP over stdio (the default)",
  serve: "serve REST, MCP over HTTP and the console on loopback; `serve --help`",
  worker: "drive runs; started by itself when needed",
  demo: "a coding loop from start to done in a small repository",
  retention: "what the retention policy would free, and the sizes of finished runs; `--apply` does it now",
  agents: "the coding agents that are found here; `agents add NAME` installs one",
  open: "the console in the browser; `open --help`",
  completion: "the script that completes commands, flags and runs in bash, zsh or fish",
  doctor: "what Loopkeeper needs, what is wrong with it, and what to do; `doctor --deep` asks each agent",
  setup: "the configuration that makes a client start this server; `setup --help`",
} as const;

async function main(words: readonly string[]): Promise<number> {
  const [name = "mcp", ...rest] = words;
  switch (name) {
    case "mcp":
      return serve();
    case "serve":
      return (await import("./serve-command.ts")).runServeCommand(readConfig(), rest);
    case "worker":
      await (await import("./worker-process.ts")).runWorkerProcess(readConfig());
      return 0;
    case "report":
      await (await import("./server/report.ts")).runReportServer({ env: readConfig().env });
      return 0;
    case "scripted-agent":
      await (await import("./engine/scripted/agent.ts")).runScriptedAgent({ args: rest, env: readConfig().env });
      return 0;
    case "agents":
      return (await import("./agents-command.ts")).runAgentsCommand(readConfig(), rest);
    case "retention":
      return (await import("./retention-command.ts")).runRetentionCommand(readConfig(), rest);
    case "open":
      return open(rest);
    case "doctor":
      return (await import("./doctor/doctor-command.ts")).runDoctorCommand(rest);
    case "setup":
      return (await import("./setup/setup-command.ts")).runSetupCommand(readConfig(), rest);
    case "demo":
      return (await import("./demo/demo.ts")).runDemo(readConfig(), rest);
    case "--version":
    case "-v":
      process.stdout.write(`${(await import("./version.ts")).VERSION}\n`);
      return 0;
    default:
      return command(words);
  }
}

async function serve(): Promise<number> {
  const [{ createMcpServer }, { serveMcpOverStdio }, { TOOLS }, { RUN_RESOURCES }, { lazyCalls }, { VERSION }] =
    await Promise.all([
      import("./server/mcp.ts"),
      import("./server/stdio.ts"),
      import("./tools/index.ts"),
      import("./tools/resources.ts"),
      import("./tools/runtime.ts"),
      import("./version.ts"),
    ]);
  const calls = lazyCalls(lazyDoor("mcp"));
  await serveMcpOverStdio(
    () =>
      createMcpServer({ tools: TOOLS, version: VERSION, call: calls.call, resources: { list: RUN_RESOURCES, read: calls.read } }),
    (error) => void complain(`loopkeeper: ${messageOf(error)}`),
  );
  await calls.close();
  return 0;
}

/** Store, git and engines load at the first call: a client that only lists tools does not wait for them. */
function lazyDoor(name: string): Parameters<typeof import("./tools/runtime.ts").lazyCalls>[0] {
  return {
    connect: async () => {
      const { connectTools, logOf } = await import("./app.ts");
      const config = readConfig();
      return connectTools(config, logOf(config, name));
    },
    onDefect: (error) => void complain(`loopkeeper: defect: ${stackOf(error)}`),
  };
}

async function open(words: readonly string[]): Promise<number> {
  const [{ runOpenCommand }, { lazyCalls }] = await Promise.all([import("./open-command.ts"), import("./tools/runtime.ts")]);
  const calls = lazyCalls(lazyDoor("cli"));
  try {
    return await runOpenCommand(readConfig(), words, calls.call);
  } finally {
    await calls.close();
  }
}

async function command(words: readonly string[]): Promise<number> {
  const [{ runCli }, { terminalOf }, { TOOLS }, { lazyCalls }] = await Promise.all([
    import("./cli/cli.ts"),
    import("./terminal.ts"),
    import("./tools/index.ts"),
    import("./tools/runtime.ts"),
  ]);
  const calls = lazyCalls(lazyDoor("cli"));
  const ending = new AbortController();
  process.once("SIGINT", () => ending.abort());
  const config = readConfig();
  const { cwd, env } = config;
  const terminal = terminalOf({ cwd, env, signal: ending.signal });
  try {
    return await runCli(words, {
      tools: TOOLS,
      call: calls.call,
      cwd,
      others: COMMANDS,
      words: (of) => knownWords(of, config),
      signal: ending.signal,
      ...terminal,
    });
  } finally {
    await calls.close();
  }
}

/** What may follow a command that is no tool, for completion. */
async function knownWords(of: string, config: ReturnType<typeof readConfig>): Promise<readonly string[]> {
  const { CATALOG } = await import("./engine/catalog.ts");
  const builtIn = CATALOG.filter((row) => row.may_be_default).map((row) => row.name);
  switch (of) {
    case "agent":
      return [...new Set([...Object.keys(config.agents), ...builtIn])];
    case "agents":
      return ["add", ...builtIn];
    case "completion":
      return (await import("./cli/completion-scripts.ts")).SHELLS;
    case "setup":
      return [
        ...(await import("./setup/clients.ts")).CLIENTS.map((client) => client.name),
        "--write",
        "--scope",
        "--print",
        "--json",
      ];
    case "open":
      return ["@last", "--print"];
    case "doctor":
      return ["--deep", "--json"];
    default:
      return [];
  }
}

/** Runs one command line, `words` without program and script. Resolves to the exit code. */
export async function run(words: readonly string[]): Promise<number> {
  // Node itself would print the error as it is, into a log file in the worker's case.
  process.once("uncaughtException", (error) => void complain(`loopkeeper: ${stackOf(error)}`).then(() => process.exit(1)));
  try {
    return await main(words);
  } catch (error) {
    const known = error instanceof LoopkeeperError ? `${error.code}: ${error.message}` : null;
    await complain(known ?? `loopkeeper: ${stackOf(error)}`);
    return 1;
  }
}

/** To stderr, which may be a log file: an error's text can hold what an engine or a database said. */
async function complain(text: string): Promise<void> {
  const { redact } = await import("./redact/redact.ts");
  process.stderr.write(`${redact(text)}\n`);
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
