import { existsSync } from "node:fs";
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

/** How this server is started, with the variables that the client has to pass on. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
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
  /** The configuration file; null where the client has none for that scope. */
  file(scope: Scope, around: Surroundings): string | null;
  entry(launch: Launch): Readonly<Record<string, unknown>>;
  readonly check: string;
}

/** `run_wait` may block this long; a client's own limit must not be shorter. */
const LONGEST_CALL_S = 300;

const plain = ({ command, args, env }: Launch) => ({ command, args, ...(Object.keys(env).length === 0 ? {} : { env }) });
const typed = (launch: Launch) => ({ type: "stdio", ...plain(launch) });

export const CLIENTS: readonly Client[] = [
  {
    name: "claude-code",
    title: "Claude Code",
    format: "json",
    at: ["mcpServers"],
    desktop: false,
    file: (scope, { home, cwd, env }) =>
      scope === "project" ? join(cwd, ".mcp.json") : join(env["CLAUDE_CONFIG_DIR"] ?? home, ".claude.json"),
    entry: typed,
    check: "claude mcp list",
  },
  {
    name: "claude-desktop",
    title: "Claude Desktop",
    format: "json",
    at: ["mcpServers"],
    desktop: true,
    file: (scope, around) => (scope === "project" ? null : join(appData(around), "Claude", "claude_desktop_config.json")),
    entry: plain,
    check: "quit Claude Desktop and open it again; Settings > Developer lists loopkeeper",
  },
  {
    name: "cursor",
    title: "Cursor",
    format: "json",
    at: ["mcpServers"],
    desktop: true,
    file: (scope, { home, cwd }) => join(scope === "project" ? cwd : home, ".cursor", "mcp.json"),
    entry: plain,
    check: "Cursor Settings > MCP lists loopkeeper; `cursor-agent mcp list` in a shell",
  },
  {
    name: "vscode",
    title: "VS Code",
    format: "jsonc",
    at: ["servers"],
    desktop: true,
    file: (scope, around) =>
      scope === "project" ? join(around.cwd, ".vscode", "mcp.json") : join(appData(around), "Code", "User", "mcp.json"),
    entry: typed,
    check: 'the command "MCP: List Servers" of VS Code',
  },
  {
    name: "codex",
    title: "Codex",
    format: "toml",
    at: ["mcp_servers"],
    desktop: false,
    file: (scope, { home, cwd, env }) =>
      join(scope === "project" ? join(cwd, ".codex") : (env["CODEX_HOME"] ?? join(home, ".codex")), "config.toml"),
    entry: (launch) => ({ ...plain(launch), startup_timeout_sec: 30, tool_timeout_sec: LONGEST_CALL_S }),
    check: "codex mcp list",
  },
  {
    name: "opencode",
    title: "opencode",
    format: "jsonc",
    at: ["mcp"],
    desktop: false,
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
  },
  {
    name: "gemini",
    title: "Gemini CLI",
    format: "jsonc",
    at: ["mcpServers"],
    desktop: false,
    file: (scope, { home, cwd }) => join(scope === "project" ? cwd : home, ".gemini", "settings.json"),
    entry: (launch) => ({ ...plain(launch), timeout: LONGEST_CALL_S * 1000 }),
    check: "gemini mcp list",
  },
];

/** Where programs of a desktop keep their settings. */
function appData({ platform, home, env }: Surroundings): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return env["APPDATA"] ?? join(home, "AppData", "Roaming");
  return env["XDG_CONFIG_HOME"] ?? join(home, ".config");
}

function eitherOf(folder: string, preferred: string, usual: string): string {
  return existsSync(join(folder, preferred)) ? join(folder, preferred) : join(folder, usual);
}
