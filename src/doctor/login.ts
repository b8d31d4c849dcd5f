import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { epochMs } from "../run/clock.ts";

/** Whether an agent is logged in, as far as files and variables tell. Nothing is started, no secret is kept or shown. */
export interface Login {
  /** Null: not known. */
  readonly logged_in: boolean | null;
  readonly how: string;
  /** The command that logs it in. */
  readonly command: string;
}

interface Place {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly platform: string;
}

interface Rule {
  /** Variables that are a login by themselves. */
  readonly variables: readonly string[];
  /** What its login file says; null when there is none. */
  fromFile(place: Place): Promise<Omit<Login, "command"> | null>;
  readonly command: string;
}

const claudeSchema = z.looseObject({
  claudeAiOauth: z.looseObject({ expiresAt: z.number().optional(), refreshToken: z.string().optional() }).optional(),
});
const codexSchema = z.looseObject({ OPENAI_API_KEY: z.string().nullish(), tokens: z.looseObject({}).nullish() });
const anySchema = z.record(z.string(), z.unknown());

const RULES: Readonly<Record<string, Rule>> = {
  claude: {
    variables: [
      "ANTHROPIC_API_KEY",
      "ANTHROPIC_AUTH_TOKEN",
      "CLAUDE_CODE_OAUTH_TOKEN",
      "CLAUDE_CODE_USE_BEDROCK",
      "CLAUDE_CODE_USE_VERTEX",
    ],
    fromFile: async ({ home, env, platform }) => {
      const file = await jsonIn(join(env["CLAUDE_CONFIG_DIR"] ?? join(home, ".claude"), ".credentials.json"), claudeSchema);
      const login = file?.claudeAiOauth;
      if (login === undefined)
        return platform === "darwin" ? { logged_in: null, how: "not known: it would be in the keychain" } : null;
      const over = login.expiresAt !== undefined && login.expiresAt < epochMs() && (login.refreshToken ?? "") === "";
      return { logged_in: !over, how: over ? "its login has expired" : "by its login file" };
    },
    command: "claude /login",
  },
  codex: {
    variables: ["OPENAI_API_KEY", "CODEX_API_KEY"],
    fromFile: async ({ home, env }) => {
      const file = await jsonIn(join(env["CODEX_HOME"] ?? join(home, ".codex"), "auth.json"), codexSchema);
      if (file === null) return null;
      const there = (file.OPENAI_API_KEY ?? "") !== "" || file.tokens != null;
      return { logged_in: there, how: there ? "by its login file" : "its login file is empty" };
    },
    command: "codex login",
  },
  opencode: {
    variables: [],
    fromFile: async ({ home, env }) => {
      const data = env["XDG_DATA_HOME"] ?? join(home, ".local", "share");
      const file = await jsonIn(join(data, "opencode", "auth.json"), anySchema);
      const providers = Object.keys(file ?? {});
      // It also takes keys of its providers from variables and its own configuration.
      return providers.length === 0
        ? { logged_in: null, how: "not known: no login file, but its providers may have keys elsewhere" }
        : { logged_in: true, how: `by its login file (${providers.join(", ")})` };
    },
    command: "opencode auth login",
  },
  gemini: {
    variables: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"],
    fromFile: async ({ home, env }) => {
      const file = await jsonIn(join(env["GEMINI_CLI_HOME"] ?? home, ".gemini", "oauth_creds.json"), anySchema);
      return file === null ? null : { logged_in: true, how: "by its login file" };
    },
    command: "gemini (it asks how at its first start)",
  },
};

/** Every variable that is a login of some agent. */
export const LOGIN_VARIABLES: readonly string[] = Object.values(RULES).flatMap((rule) => rule.variables);

/** Null for an agent whose ways of logging in are not known. */
export async function loginOf(profile: string, place: Place): Promise<Login | null> {
  const rule = RULES[profile];
  if (rule === undefined) return null;
  const { command } = rule;
  const variable = rule.variables.find((name) => (place.env[name] ?? "") !== "");
  if (variable !== undefined) return { logged_in: true, how: `by ${variable}`, command };
  const file = await rule.fromFile(place);
  return { ...(file ?? { logged_in: false, how: "neither a key in the environment nor a login file" }), command };
}

async function jsonIn<T>(file: string, schema: z.ZodType<T>): Promise<T | null> {
  try {
    return schema.safeParse(JSON.parse(await readFile(file, "utf8"))).data ?? null;
  } catch {
    return null;
  }
}
