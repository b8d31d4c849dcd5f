import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { PermissionLevel, PlanEntry } from "../../run/run.ts";
import { outputOf, outputToFile } from "../process.ts";
import type { EngineProfile, SessionPlace } from "./profile.ts";

const CONFIG_VARIABLE = "OPENCODE_CONFIG_CONTENT";

/** opencode: it has no modes for permissions, only its configuration, into which ours is merged by a variable. */
export const opencode: EngineProfile = {
  name: "opencode",
  environment: ({ permissions, base }) => ({ [CONFIG_VARIABLE]: JSON.stringify(configured(base[CONFIG_VARIABLE], permissions)) }),
  modes: { all: null, edits: null, ask: null },
  quirks: {},
  async sessionFiles(place) {
    const folder = await mkdtemp(join(tmpdir(), "lk-export-"));
    const path = join(folder, EXPORT_FILE);
    const done = () => rm(folder, { recursive: true, force: true });
    if (await outputToFile({ ...subcommand(place, ["export", place.session_id]), file: path }))
      return { files: [{ name: EXPORT_FILE, path }], done };
    await done();
    return { files: [] };
  },
  // Its database ties a session to the directory it was made in; an import from another directory rebases it.
  async importSession(place, file) {
    if ((await outputOf(subcommand(place, ["import", file]))) === null) throw new Error("opencode could not import the session");
  },
  async deleteSession(place) {
    const done = await outputOf(subcommand(place, ["session", "delete", place.session_id]));
    if (done === null) throw new Error("opencode could not delete the session");
  },
  planFrom: ({ rawInput, rawOutput }) => todos(rawInput) ?? todosOfOutput(rawOutput),
};

const EXPORT_FILE = "session.json";

/** A subcommand of the same program. */
function subcommand(place: SessionPlace, args: readonly string[]) {
  const before = place.args.filter((arg) => arg !== "acp");
  return { command: place.command, args: [...before, ...args], cwd: place.cwd, env: place.env, timeoutMs: 60_000 };
}

const objectSchema = z.record(z.string(), z.unknown());

function configured(present: string | undefined, level: PermissionLevel): Record<string, unknown> {
  const config = parsed(present);
  if (level === "all") return config;
  const ask = { edit: "ask", bash: "ask", webfetch: "ask", external_directory: "ask" };
  return { ...config, permission: { ...(objectSchema.safeParse(config["permission"]).data ?? {}), ...ask } };
}

function parsed(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {};
  try {
    return objectSchema.safeParse(JSON.parse(text)).data ?? {};
  } catch {
    return {};
  }
}

const todosSchema = z.looseObject({
  todos: z.array(z.looseObject({ content: z.string(), status: z.enum(["pending", "in_progress", "completed", "cancelled"]) })),
});

function todos(value: unknown): readonly PlanEntry[] | null {
  const list = todosSchema.safeParse(value).data?.todos;
  // What was given up is no longer to be done.
  return list?.flatMap(({ content, status }) => (status === "cancelled" ? [] : [{ content, status }])) ?? null;
}

function todosOfOutput(rawOutput: unknown): readonly PlanEntry[] | null {
  return todos(z.looseObject({ metadata: z.unknown() }).safeParse(rawOutput).data?.metadata);
}
