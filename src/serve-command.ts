import { join } from "node:path";
import { connectTools, logOf } from "./app.ts";
import { parseWords } from "./command-words.ts";
import type { Config } from "./config.ts";
import { removePage } from "./console-page.ts";
import { LoopkeeperError, messageOf, systemCode } from "./run/errors.ts";
import { DEFAULT_PORT, leavePlace } from "./serve-place.ts";
import { serveToken } from "./serve-token.ts";
import { httpApp } from "./server/http.ts";
import { type Listening, listen } from "./server/listen.ts";
import { createMcpServer } from "./server/mcp.ts";
import { mcpOverHttp } from "./server/mcp-http.ts";
import { TOOLS } from "./tools/index.ts";
import { RUN_RESOURCES } from "./tools/resources.ts";
import { lazyCalls } from "./tools/runtime.ts";
import { VERSION } from "./version.ts";

/** Node takes no more. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const LOOPBACK = /^(127(\.\d{1,3}){3}|::1|localhost)$/u;

const HELP = `loopkeeper serve: REST under /api, MCP at /mcp, the console at /

  --port N           default ${DEFAULT_PORT}; 0 takes any free one
  --host ADDRESS     default 127.0.0.1; another one needs LOOPKEEPER_TOKEN and --allow-host
  --allow-host NAME  a name (or name:port) under which it may be asked, beside the loopback ones; may be repeated
  --idle-minutes N   end by itself when nobody has asked or followed a stream for so long; default: never
  --json             one line of JSON on stdout once it listens
`;

const OPTIONS = {
  port: { type: "string" },
  host: { type: "string" },
  "allow-host": { type: "string", multiple: true },
  "idle-minutes": { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

interface Wishes {
  readonly port: number;
  readonly host: string;
  readonly allowed_hosts: readonly string[];
  /** Null: it ends when it is told to. */
  readonly idle_ms: number | null;
  readonly json: boolean;
}

/** `loopkeeper serve`: serves until SIGTERM, SIGINT, or nobody wants it. Resolves to the exit code. */
export async function runServeCommand(config: Config, words: readonly string[]): Promise<number> {
  const wishes = wishesOf(words, config);
  if (wishes === null) {
    process.stdout.write(HELP);
    return 0;
  }
  const ended = endSignal();
  const ending = new AbortController();
  const log = logOf(config, "serve");
  const onDefect = (error: unknown): void => log("error", "defect", { error: stackOf(error) });
  const { token, file } = serveToken(config.home, config.token);
  const calls = lazyCalls({
    connect: () => connectTools(config, log),
    onDefect,
  });
  const mcp = mcpOverHttp(
    () =>
      createMcpServer({ tools: TOOLS, version: VERSION, call: calls.call, resources: { list: RUN_RESOURCES, read: calls.read } }),
    {
      ending: ending.signal,
      onFault: (error) => log("warn", "a request to /mcp was refused", { error: messageOf(error) }),
    },
  );
  let listening: Listening | null = null;
  const app = httpApp(
    {
      tools: TOOLS,
      version: VERSION,
      call: calls.call,
      feed: calls.feed,
      ending: ending.signal,
      token,
      allowed_hosts: wishes.allowed_hosts,
      onRedeemed: (ticket) => removePage(config.home, ticket),
      console_folder: join(import.meta.dirname, "console"),
      mcp,
      onDefect,
    },
    () => listening?.port ?? wishes.port,
  );
  listening = await listenOrExplain(app, wishes);
  const url = urlOf(wishes.host, listening.port);
  const takePlaceAway = await leavePlace(config, url);
  announce(wishes, url, listening.port, token, file);
  // Not only at the first call: a door that is connected notices runs that lost their driver.
  calls.feed().catch((error: unknown) => log("warn", "the store cannot be opened yet", { error: messageOf(error) }));
  await Promise.race([ended, ...(wishes.idle_ms === null ? [] : [listening.idle(wishes.idle_ms)])]);
  takePlaceAway();
  ending.abort();
  await Promise.all([mcp.close(), listening.close()]);
  await calls.close();
  return 0;
}

function wishesOf(words: readonly string[], config: Config): Wishes | null {
  const { values } = parseWords({ args: [...words], options: OPTIONS }, HELP);
  if (values.help === true) return null;
  const port = Number(values.port ?? DEFAULT_PORT);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new LoopkeeperError("bad_input", `--port takes a number from 0 (any free one) to 65535.`);
  const host = values.host ?? "127.0.0.1";
  const allowed = values["allow-host"] ?? [];
  if (!LOOPBACK.test(host) && (config.token === null || allowed.length === 0))
    throw new LoopkeeperError(
      "bad_input",
      `--host ${host} can be reached from other machines: set LOOPKEEPER_TOKEN to a token of your own (openssl rand -base64 32) and name with --allow-host each name under which it may be asked. Over a network put TLS in front of it.`,
    );
  return { port, host, allowed_hosts: allowed, idle_ms: idleOf(values["idle-minutes"]), json: values.json === true };
}

function idleOf(minutes: string | undefined): number | null {
  if (minutes === undefined) return null;
  const ms = Number(minutes) * 60_000;
  if (ms > 0 && ms <= LONGEST_TIMER_MS) return ms;
  throw new LoopkeeperError(
    "bad_input",
    "--idle-minutes takes a number above 0, at most 35000. Without it serve never ends by itself.",
  );
}

async function listenOrExplain(app: Parameters<typeof listen>[0], { host, port }: Wishes): Promise<Listening> {
  try {
    return await listen(app, { host, port });
  } catch (error) {
    const code = systemCode(error);
    if (code === "EADDRINUSE")
      throw new LoopkeeperError(
        "bad_input",
        `port ${port} of ${host} is in use, maybe by another loopkeeper serve. Use that one, or take another port with --port N (0: any free one).`,
      );
    throw new LoopkeeperError(
      "bad_input",
      `it cannot listen on ${host} port ${port} (${code ?? "unknown"}). Take another --host or --port.`,
    );
  }
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A token that its owner set is not shown again: what a service writes to stderr is kept in logs. */
function announce({ json }: Wishes, url: string, port: number, token: string, file: string | null): void {
  const login = file === null ? null : `${url}/#token=${token}`;
  if (json) {
    process.stdout.write(`${JSON.stringify({ url, login_url: login, token_file: file, port, pid: process.pid })}\n`);
    return;
  }
  process.stderr.write(
    `Loopkeeper serves at ${login ?? `${url}/ (the token is the one in LOOPKEEPER_TOKEN)`}\n  REST ${url}/api/runs   MCP ${url}/mcp${file === null ? "" : `   token in ${file}`}\n`,
  );
}

function endSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => resolve());
    process.on("SIGHUP", () => undefined);
    process.stdout.on("error", () => undefined);
    process.stderr.on("error", () => undefined);
  });
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
