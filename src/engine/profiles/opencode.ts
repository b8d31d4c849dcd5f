import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { PermissionLevel, PlanEntry } from "../../run/run.ts";
import { outputOf } from "../process.ts";
import type { EngineProfile, SessionPlace } from "./profile.ts";

const CONFIG_VARIABLE = "OPENCODE_CONFIG_CONTENT";

/** opencode: it has no modes for permissions, only its configuration, into which ours is merged by a variable. */
export const opencode: EngineProfile = {
  name: "opencode",
  environment: ({ permissions, base }) => ({ [CONFIG_VARIABLE]: JSON.stringify(configured(base[CONFIG_VARIABLE], permissions)) }),
  modes: { all: null, edits: null, ask: null },
  quirks: {},
  async packSession(place) {
    const exported = await command(place, ["export", place.session_id]);
    return exported === null ? null : [{ name: EXPORT_FILE, bytes: exported }];
  },
  // Its database ties a session to the directory it was made in; an import from another directory rebases it.
  async unpackSession(place, { files }) {
    const exported = files.find((file) => file.name === EXPORT_FILE);
    if (exported === undefined || (await command(place, ["export", place.session_id])) !== null) return;
    const folder = await mkdtemp(join(tmpdir(), "lk-import-"));
    try {
      const file = join(folder, EXPORT_FILE);
      await writeFile(file, exported.bytes, { mode: 0o600 });
      if ((await command(place, ["import", file])) === null) throw new Error("opencode could not import the session");
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  planFrom: ({ rawInput, rawOutput }) => todos(rawInput) ?? todosOfOutput(rawOutput),
};

const EXPORT_FILE = "session.json";

/** Output of a subcommand of the same program, or null when it failed. */
function command(place: SessionPlace, args: readonly string[]): Promise<Buffer | null> {
  const before = place.args.filter((arg) => arg !== "acp");
  return outputOf({ command: place.command, args: [...before, ...args], cwd: place.cwd, env: place.env, timeoutMs: 60_000 });
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
