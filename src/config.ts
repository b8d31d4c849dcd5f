import { readFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { LoopkeeperError, messageOf, systemCode } from "./run/errors.ts";
import { RUN_ID_VARIABLE } from "./run/report.ts";
import type { Retention } from "./run/retention.ts";

const agentSchema = z.strictObject({
  command: z.string().min(1),
  args: z.array(z.string()).exactOptional(),
  env: z.record(z.string(), z.string()).exactOptional(),
  profile: z.string().exactOptional(),
});

const fileSchema = z.strictObject({
  agents: z.record(z.string(), agentSchema).optional(),
  default_agent: z.string().optional(),
  note_lookback_hours: z.number().positive().optional(),
  silence_s: z.number().positive().optional(),
  tool_silence_s: z.number().positive().optional(),
  command_timeout_s: z.number().positive().optional(),
  fetch_remote: z.boolean().optional(),
  max_live_runs: z.number().int().min(1).max(64).optional(),
  worker_idle_minutes: z.number().positive().optional(),
  open_idle_minutes: z.number().positive().max(35_000).optional(),
  checkpoint_file_mb: z.number().positive().optional(),
  checkpoint_total_mb: z.number().positive().optional(),
  checkpoint_run_mb: z.number().positive().optional(),
  retention: z
    .strictObject({
      archive_after_days: z.number().nonnegative().optional(),
      reclaim_after_days: z.number().nonnegative().optional(),
      max_total_gb: z.number().nonnegative().optional(),
      every_minutes: z.number().positive().optional(),
    })
    .optional(),
});

const crashSchema = z.strictObject({
  role: z.enum(["door", "worker"]),
  trace: z.string().min(1),
  /** `before apply(run_stopped)#1`: the point at which the process kills itself; left out, it only writes the trace. */
  kill: z.string().exactOptional(),
  /** The point from which on it may; until then nothing is counted. */
  arm: z.string().exactOptional(),
});

/** Read from the file that LOOPKEEPER_TEST_CRASH names, which only the crash tests set; see `crash-points.ts`. */
export type CrashPlan = z.infer<typeof crashSchema>;

export type ConfiguredAgent = z.infer<typeof agentSchema>;

/** Everything that comes from outside the program, read once. */
export interface Config {
  readonly home: string;
  readonly database_url: string | null;
  readonly config_path: string | null;
  readonly agents: Readonly<Record<string, ConfiguredAgent>>;
  readonly default_agent: string | null;
  readonly note_lookback_hours: number;
  readonly silence_s: number;
  readonly tool_silence_s: number;
  readonly command_timeout_s: number;
  readonly fetch_remote: boolean;
  readonly max_live_runs: number;
  readonly worker_idle_minutes: number;
  /** How long the serve that `open` starts stays when nobody uses it. */
  readonly open_idle_minutes: number;
  /** Largest untracked file that a checkpoint takes, all of them in one, and what a run's checkpoints may write of large ones. */
  readonly checkpoint_limits: { readonly file_bytes: number; readonly total_bytes: number; readonly run_bytes: number };
  readonly inside_run: string | null;
  readonly user_home: string;
  readonly cwd: string;
  /** The environment that children may inherit. */
  readonly env: Readonly<Record<string, string>>;
  /** How to start this very program again. */
  readonly self: { readonly command: string; readonly args: readonly string[] };
  readonly log_level: string;
  /** LOOPKEEPER_KEY as its 32 bytes. */
  readonly key: Uint8Array | null;
  /** LOOPKEEPER_TOKEN as it was given: what `loopkeeper serve` demands instead of the token in `home`. */
  readonly token: string | null;
  /** Null everywhere but in the crash tests. */
  readonly crash: CrashPlan | null;
}

const MB = 2 ** 20;

/** Reads environment and configuration file. `bad_input` names what is wrong in the file. */
export function readConfig(): Config {
  return configFrom(definedOnly(process.env));
}

/** For a look at what is wrong: without the setting that cannot be read, and with what is wrong with it. */
export function readWhatCanBeRead(): { readonly config: Config; readonly fault: LoopkeeperError | null } {
  const env = definedOnly(process.env);
  let fault: LoopkeeperError | null = null;
  for (const leftOut of [null, "LOOPKEEPER_CONFIG", "LOOPKEEPER_KEY"]) {
    if (leftOut !== null) delete env[leftOut];
    try {
      return { config: configFrom(env), fault };
    } catch (error) {
      if (!(error instanceof LoopkeeperError)) throw error;
      fault ??= error;
    }
  }
  throw fault ?? new Error("the settings cannot be read");
}

function configFrom(env: Record<string, string>): Config {
  const configPath = given(env, "LOOPKEEPER_CONFIG");
  const file = configPath === null ? {} : readConfigFile(configPath);
  return {
    home: resolve(given(env, "LOOPKEEPER_HOME") ?? defaultHome(env)),
    database_url: given(env, "LOOPKEEPER_DATABASE_URL"),
    config_path: configPath === null ? null : resolve(configPath),
    agents: file.agents ?? {},
    default_agent: file.default_agent ?? null,
    note_lookback_hours: file.note_lookback_hours ?? 6,
    silence_s: file.silence_s ?? 600,
    tool_silence_s: file.tool_silence_s ?? 3600,
    command_timeout_s: file.command_timeout_s ?? 900,
    fetch_remote: file.fetch_remote ?? true,
    max_live_runs: file.max_live_runs ?? 4,
    worker_idle_minutes: file.worker_idle_minutes ?? 10,
    open_idle_minutes: file.open_idle_minutes ?? 120,
    checkpoint_limits: {
      file_bytes: (file.checkpoint_file_mb ?? 50) * MB,
      total_bytes: (file.checkpoint_total_mb ?? 500) * MB,
      run_bytes: (file.checkpoint_run_mb ?? 2_000) * MB,
    },
    inside_run: env[RUN_ID_VARIABLE] ?? null,
    user_home: homedir(),
    cwd: currentFolder(),
    env,
    self: { command: process.execPath, args: [binPath()] },
    log_level: given(env, "LOOPKEEPER_LOG") ?? "info",
    key: readKey(given(env, "LOOPKEEPER_KEY")),
    token: given(env, "LOOPKEEPER_TOKEN"),
    crash: readCrashPlan(env["LOOPKEEPER_TEST_CRASH"]),
  };
}

/** An empty variable is none: clients that hand variables on by name set those to nothing that are not there. */
function given(env: Readonly<Record<string, string>>, name: string): string | null {
  return env[name]?.trim() || null;
}

/** A file that is missing or no plan means none: a variable of tests never keeps the product from working. */
function readCrashPlan(file: string | undefined): CrashPlan | null {
  if (file === undefined) return null;
  try {
    return crashSchema.safeParse(JSON.parse(readFileSync(file, "utf8"))).data ?? null;
  } catch {
    return null;
  }
}

export function readConfigFile(path: string): z.infer<typeof fileSchema> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new LoopkeeperError(
      "bad_input",
      `LOOPKEEPER_CONFIG names ${path}, which cannot be read (${systemCode(error) ?? "unknown"}). Point it at a JSON file or unset it.`,
    );
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new LoopkeeperError("bad_input", `the configuration ${path} is not JSON: ${messageOf(error)}.`);
  }
  const parsed = fileSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.map(String).join(".") || "file"}: ${issue.message}`);
  throw new LoopkeeperError(
    "bad_input",
    `the configuration ${path} is wrong: ${faults.join("; ")}. It takes: ${Object.keys(fileSchema.shape).join(", ")}.`,
  );
}

/** The retention policy as the file has it now; null when it is off, as it is unless the file turns a rule of it on. */
export function retentionOf(configPath: string | null): Retention | null {
  const wanted = configPath === null ? undefined : readConfigFile(configPath).retention;
  const { archive_after_days = null, reclaim_after_days = null, max_total_gb = null, every_minutes = 60 } = wanted ?? {};
  if (archive_after_days === null && reclaim_after_days === null && max_total_gb === null) return null;
  return { policy: { archive_after_days, reclaim_after_days, max_total_gb }, every_ms: every_minutes * 60_000 };
}

/** Exactly 32 bytes: a password that people can remember would be guessed from a copy of the database. */
function readKey(text: string | null): Uint8Array | null {
  if (text === null) return null;
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  const plain = text.replaceAll("-", "+").replaceAll("_", "/");
  const bytes = /^[A-Za-z0-9+/]{43}=?$/.test(plain) ? Buffer.from(plain, "base64") : null;
  if (bytes?.length === 32) return bytes;
  throw new LoopkeeperError(
    "bad_input",
    "LOOPKEEPER_KEY is not a key: it takes 32 bytes as base64 or hex, the same on every host. Make one with `openssl rand -base64 32`, or unset it. Its value is not shown here.",
  );
}

/** The platform's state folder: `$XDG_STATE_HOME/loopkeeper` or its equivalent. */
function defaultHome(env: Readonly<Record<string, string>>): string {
  const home = homedir() || tmpdir();
  if (process.platform === "darwin") return join(home, "Library", "Application Support", "loopkeeper");
  if (process.platform === "win32") return join(env["LOCALAPPDATA"] ?? join(home, "AppData", "Local"), "loopkeeper");
  return join(given(env, "XDG_STATE_HOME") ?? join(home, ".local", "state"), "loopkeeper");
}

/** The bin beside this file: `.ts` when run from the sources, `.js` when built. */
function binPath(): string {
  const here = fileURLToPath(import.meta.url);
  return join(dirname(here), "bin", here.endsWith(".ts") ? "loopkeeper.ts" : "loopkeeper.js");
}

/** A server may be started in a folder that is deleted meanwhile. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    return "/";
  }
}

function definedOnly(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
