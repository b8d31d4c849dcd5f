import { z } from "zod";
import type { AgentSpec } from "../engine/engine.ts";
import { messageOf } from "../run/errors.ts";
import type { Drive } from "./drive.ts";

/** The engine's own session files as an opaque copy in the store, in chunks shared by content; only the latest is kept. */

const CHUNK_BYTES = 1024 * 1024;
const ARTIFACT = "session";

const metaSchema = z.object({ agent: z.string(), session: z.string(), cwd: z.string(), bytes: z.number().int() });

/** Not having a copy never fails a stop. */
export async function packSession(drive: Drive, agent: AgentSpec, session: string): Promise<void> {
  const { engines, store } = drive.ctx;
  try {
    const packed = await engines.packSession({ agent, session_id: session, cwd: drive.repo.top });
    if (packed === null) return;
    const ids: string[] = [];
    for (let from = 0; from < packed.length; from += CHUNK_BYTES)
      ids.push(await store.putArtifact(packed.subarray(from, from + CHUNK_BYTES)));
    const meta: z.infer<typeof metaSchema> = { agent: agent.name, session, cwd: drive.repo.top, bytes: packed.length };
    await store.setRunArtifacts(drive.run.run_id, ARTIFACT, JSON.stringify(meta), ids);
  } catch (error) {
    drive.ctx.log("warn", "the engine's session files could not be packed", {
      run_id: drive.run.run_id,
      error: messageOf(error),
    });
  }
}

/** Puts the copy of this session back where the agent looks for it; false when there is none or it could not be done. */
export async function unpackSession(drive: Drive, agent: AgentSpec, session: string): Promise<boolean> {
  const { engines, store } = drive.ctx;
  try {
    const stored = await store.runArtifacts(drive.run.run_id, ARTIFACT);
    if (stored === null || metaSchema.parse(JSON.parse(stored.meta)).session !== session) return false;
    const chunks = await Promise.all(stored.ids.map((id) => store.artifact(id)));
    const whole = chunks.filter((chunk) => chunk !== null);
    if (whole.length < chunks.length) return false;
    await engines.unpackSession({ agent, session_id: session, cwd: drive.repo.top, packed: Buffer.concat(whole) });
    return true;
  } catch (error) {
    drive.ctx.log("warn", "the engine's session files could not be put back", {
      run_id: drive.run.run_id,
      error: messageOf(error),
    });
    return false;
  }
}
