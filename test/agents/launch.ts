import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

export const AGENTS = ["opencode", "claude", "codex", "gemini"] as const;
export type AgentName = (typeof AGENTS)[number];

/** One entry of `agents` in the file that LOOPKEEPER_CONFIG names. */
export interface AgentEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly profile: AgentName;
}

const INSTALLED = join(import.meta.dirname, "node_modules");

/** An agent that knows only its own home folder and the model on loopback: no login, no network, nothing of this machine's user. */
export async function hermeticLaunch(
  agent: AgentName,
  at: { readonly home: string; readonly port: number },
): Promise<AgentEntry> {
  const model = `http://127.0.0.1:${at.port}`;
  await mkdir(join(at.home, "tmp"), { recursive: true });
  return { claude, codex, gemini, opencode }[agent](at.home, model);
}

/** Built from nothing, so that no setting of the surrounding machine changes what an agent does. */
export function hermeticEnvironment(home: string): Record<string, string> {
  return {
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_DATA_HOME: join(home, ".local/share"),
    XDG_STATE_HOME: join(home, ".local/state"),
    XDG_CACHE_HOME: join(home, ".cache"),
    TMPDIR: join(home, "tmp"),
    TERM: "dumb",
    LANG: "C.UTF-8",
    NO_COLOR: "1",
    NO_PROXY: "127.0.0.1",
    GIT_CONFIG_NOSYSTEM: "1",
    DO_NOT_TRACK: "1",
  };
}

async function claude(home: string, model: string): Promise<AgentEntry> {
  return {
    command: process.execPath,
    args: [join(INSTALLED, "@agentclientprotocol/claude-agent-acp/dist/index.js")],
    profile: "claude",
    env: {
      ...hermeticEnvironment(home),
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: "sk-scripted",
      CLAUDE_CONFIG_DIR: join(home, ".claude"),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "0",
      CLAUDE_CODE_ENABLE_TODO_TOOLS: "1",
      CLAUDE_CODE_ENABLE_TASKS: "1",
      CLAUDE_CODE_MAX_RETRIES: "0",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_ERROR_REPORTING: "1",
      DISABLE_TELEMETRY: "1",
      // Otherwise most tools wait behind a search tool that the script does not play.
      ENABLE_TOOL_SEARCH: "false",
      // As root the adapter refuses to run without permission questions unless it is told of a sandbox.
      IS_SANDBOX: "1",
    },
  };
}

async function opencode(home: string, model: string): Promise<AgentEntry> {
  const config = {
    autoupdate: false,
    share: "disabled",
    model: "scripted/m1",
    small_model: "scripted/m1",
    enabled_providers: ["scripted"],
    provider: {
      scripted: {
        npm: "@ai-sdk/openai-compatible",
        name: "Scripted",
        options: { baseURL: `${model}/v1`, apiKey: "sk-scripted" },
        models: {
          m1: {
            name: "m1",
            tool_call: true,
            reasoning: true,
            limit: { context: 200_000, output: 8_000 },
            cost: { input: 1, output: 2 },
          },
        },
      },
    },
  };
  return {
    command: join(INSTALLED, "opencode-ai/bin/opencode.exe"),
    args: ["acp"],
    profile: "opencode",
    env: {
      ...hermeticEnvironment(home),
      OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_CLAUDE_CODE: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_SHARE: "1",
      // In a fresh home it installs a plugin package in the background.
      npm_config_offline: "true",
    },
  };
}

async function codex(home: string, model: string): Promise<AgentEntry> {
  const folder = join(home, ".codex");
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, "config.toml"),
    `model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[history]
persistence = "none"
[tools]
update_plan = { enabled = true }
[model_providers.scripted]
name = "Scripted"
base_url = "${model}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
`,
  );
  return {
    command: process.execPath,
    args: [join(INSTALLED, "@agentclientprotocol/codex-acp/dist/index.js")],
    profile: "codex",
    env: {
      ...hermeticEnvironment(home),
      CODEX_HOME: folder,
      NO_BROWSER: "1",
      OPENAI_API_KEY: "sk-scripted",
      SCRIPTED_KEY: "sk-scripted",
    },
  };
}

async function gemini(home: string, model: string): Promise<AgentEntry> {
  const folder = join(home, ".gemini");
  await mkdir(folder, { recursive: true });
  const settings = {
    security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false, maxAttempts: 1 },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
  };
  await writeFile(join(folder, "settings.json"), JSON.stringify(settings));
  return {
    command: process.execPath,
    args: [join(INSTALLED, "@google/gemini-cli/bundle/gemini.js"), "--acp", "--skip-trust"],
    profile: "gemini",
    env: {
      ...hermeticEnvironment(home),
      GEMINI_API_KEY: "scripted",
      GEMINI_CLI_NO_RELAUNCH: "true",
      GEMINI_CLI_TRUST_WORKSPACE: "true",
      // With `auto` every turn first asks a router model.
      GEMINI_MODEL: "gemini-2.5-pro",
      GEMINI_TELEMETRY_ENABLED: "false",
      GOOGLE_GEMINI_BASE_URL: model,
    },
  };
}
