import { existsSync, statSync } from "node:fs";
import { join } from "node:path";

/** Where each client keeps its MCP servers, and what an entry of ours looks like there. */

export type Scope = "user" | "project";

/** The machine as a client sees it. */
export interface Surroundings {
  readonly platform: string;
  readonly home: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** How this server is started. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables that the entry sets. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables that the entry only names: the client hands on what they hold when it starts the server. */
  readonly named: readonly string[];
}

export interface Client {
  readonly name: string;
  readonly title: string;
  /** `json`: without comments, which the client would refuse. */
  readonly format: "json" | "jsonc" | "toml";
  /** Keys that lead to the table of servers. */
  readonly at: readonly string[];
  /** Started from a desktop, not a shell: it must be told the PATH, or no agent is found. */
  readonly desktop: boolean;
  /** Which of its own variables its servers get: all, a few and those that an entry names, or a few whatever an entry says. */
  readonly environment: "all" | "named" | "few";
  /** The configuration file; null where the client has none for that scope. */
  file(scope: Scope, around: Surroundings): string | null;
  entry(launch: Launch): Readonly<Record<string, unknown>>;
  readonly check: string;
  /** What the client wants of its user before it starts the server; null: nothing. */
  consent(scope: Scope): string | null;
}

/** `run_wait` may block this long; a client's own limit must not be shorter. */
const LONGEST_CALL_S = 300;

const plain = ({ command, args, env }: Omit<Launch, "named">) => ({
  command,
  args,
  ...(Object.keys(env).length === 0 ? {} : { env }),
});
const typed = (launch: Launch) => ({ type: "stdio", ...plain(launch) });
const nothing = () => null;

export const CLIENTS: readonly Client[] = [
  {
    name: "claude-code",
    title: "Claude Code",
    format: "json",
    at: ["mcpServers"],
    desktop: false,
    environment: "all",
    file: (scope, around) => (scope === "project" ? join(around.cwd, ".mcp.json") : claudeCodeFile(around)),
    entry: typed,
    check: "claude mcp list",
    consent: (scope) => (scope === "project" ? "Claude Code asks once, when it starts in this folder, whether to use it." : null),
  },
  {
    name: "claude-desktop",
    title: "Claude Desktop",
    format: "json",
    at: ["mcpServers"],
    desktop: true,
    environment: "few",
    file: (scope, around) => (scope === "project" ? null : join(appData(around), "Claude", "claude_desktop_config.json")),
    entry: plain,
    check: "quit Claude Desktop and open it again; Settings > Developer lists loopkeeper",
    consent: nothing,
  },
  {
    name: "cursor",
    title: "Cursor",
    format: "json",
    at: ["mcpServers"],
    desktop: true,
    environment: "all",
    file: (scope, { home, cwd }) => join(scope === "project" ? cwd : home, ".cursor", "mcp.json"),
    entry: plain,
    check: "Cursor Settings > MCP lists loopkeeper; `cursor-agent mcp list` in a shell",
    consent: nothing,
  },
  {
    name: "vscode",
    title: "VS Code",
    format: "jsonc",
    at: ["servers"],
    desktop: true,
    environment: "all",
    file: (scope, around) =>
      scope === "project" ? join(around.cwd, ".vscode", "mcp.json") : join(appData(around), "Code", "User", "mcp.json"),
    entry: typed,
    check: 'the command "MCP: List Servers" of VS Code',
    consent: () => "VS Code asks at its first start whether you trust it.",
  },
  {
    name: "codex",
    title: "Codex",
    format: "toml",
    at: ["mcp_servers"],
    desktop: false,
    environment: "named",
    file: (scope, { home, cwd, env }) =>
      join(scope === "project" ? join(cwd, ".codex") : (env["CODEX_HOME"] ?? join(home, ".codex")), "config.toml"),
    entry: (launch) => ({
      ...plain(launch),
      ...(launch.named.length === 0 ? {} : { env_vars: launch.named }),
      startup_timeout_sec: 30,
      tool_timeout_sec: LONGEST_CALL_S,
    }),
    check: "codex mcp list",
    consent: (scope) => (scope === "project" ? "Codex reads it once you trust this folder: start codex in it, it asks." : null),
  },
  {
    name: "opencode",
    title: "opencode",
    format: "jsonc",
    at: ["mcp"],
    desktop: false,
    environment: "all",
    file: (scope, { home, cwd, env }) =>
      eitherOf(
        scope === "project" ? cwd : join(env["XDG_CONFIG_HOME"] ?? join(home, ".config"), "opencode"),
        "opencode.jsonc",
        "opencode.json",
      ),
    entry: ({ command, args, env }) => ({
      type: "local",
      command: [command, ...args],
      ...(Object.keys(env).length === 0 ? {} : { environment: env }),
      enabled: true,
      timeout: LONGEST_CALL_S * 1000,
    }),
    check: "opencode mcp list",
    consent: nothing,
  },
  {
    name: "gemini",
    title: "Gemini CLI",
    format: "jsonc",
    at: ["mcpServers"],
    desktop: false,
    environment: "named",
    file: (scope, { home, cwd, env }) =>
      join(scope === "project" ? cwd : (env["GEMINI_CLI_HOME"] ?? home), ".gemini", "settings.json"),
    entry: ({ named, env, ...start }) => ({
      ...plain({ ...start, env: { ...env, ...Object.fromEntries(named.map((name) => [name, `$${name}`])) } }),
      timeout: LONGEST_CALL_S * 1000,
    }),
    check: "gemini mcp list",
    consent: () => "Gemini CLI starts servers only in folders that it trusts: start gemini in one and trust it (/permissions).",
  },
];

/** Claude Code goes on with the file of its first versions where that is there. */
function claudeCodeFile({ home, env }: Surroundings): string {
  const own = env["CLAUDE_CONFIG_DIR"];
  const first = join(own ?? join(home, ".claude"), ".config.json");
  return (statSync(first, { throwIfNoEntry: false })?.size ?? 0) > 0 ? first : join(own ?? home, ".claude.json");
}

/** Where programs of a desktop keep their settings. */
function appData({ platform, home, env }: Surroundings): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return env["APPDATA"] ?? join(home, "AppData", "Roaming");
  return env["XDG_CONFIG_HOME"] ?? join(home, ".config");
}

function eitherOf(folder: string, preferred: string, usual: string): string {
  return existsSync(join(folder, preferred)) ? join(folder, preferred) : join(folder, usual);
}
