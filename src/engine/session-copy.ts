import { gunzipSync, gzipSync } from "node:zlib";
import { z } from "zod";
import type { AgentSpec } from "./engine.ts";
import { type Environment, userEnvironment } from "./environment.ts";
import type { SessionPlace } from "./profiles/profile.ts";
import { profileOf } from "./profiles/table.ts";

interface SessionOf {
  readonly agent: AgentSpec;
  readonly session_id: string;
  readonly cwd: string;
}

/** A packed session: gzip of this JSON. Files are the engine's own, named within its own folder. */
const packedSchema = z.strictObject({
  format: z.literal(1),
  profile: z.string(),
  session_id: z.string(),
  cwd: z.string(),
  files: z.array(z.strictObject({ name: z.string(), base64: z.string() })),
});

/** The session's files as one blob, or null when the engine has none that can be moved. */
export async function packSession(base: Environment, input: SessionOf): Promise<Uint8Array | null> {
  const profile = profileOf(input.agent.profile);
  const files = await profile.packSession?.(placeOf(base, input));
  if (!files || files.length === 0) return null;
  const packed: z.output<typeof packedSchema> = {
    format: 1,
    profile: profile.name,
    session_id: input.session_id,
    cwd: input.cwd,
    files: files.map(({ name, bytes }) => ({ name, base64: Buffer.from(bytes).toString("base64") })),
  };
  return gzipSync(JSON.stringify(packed));
}

/** Puts a packed session where the engine looks for it; a session that is already there is left as it is. */
export async function unpackSession(base: Environment, input: SessionOf & { readonly packed: Uint8Array }): Promise<void> {
  const profile = profileOf(input.agent.profile);
  const packed = packedSchema.parse(JSON.parse(gunzipSync(input.packed).toString("utf8")));
  if (packed.profile !== profile.name || packed.session_id !== input.session_id) {
    throw new Error("the packed session belongs to another engine or another session");
  }
  const files = packed.files.map(({ name, base64 }) => ({ name, bytes: Buffer.from(base64, "base64") }));
  await profile.unpackSession?.(placeOf(base, input), { cwd: packed.cwd, files });
}

function placeOf(base: Environment, { agent, session_id, cwd }: SessionOf): SessionPlace {
  const profile = profileOf(agent.profile);
  const additions = profile.environment({ permissions: "all", base: { ...base, ...agent.env } });
  const env = userEnvironment(base, { ...agent.env, ...additions });
  return { env, command: agent.command, args: agent.args, session_id, cwd };
}
