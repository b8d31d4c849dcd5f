import type { AgentSpec } from "../engine/engine.ts";
import { readSession, type StoredSession } from "../resume/session-copy.ts";
import { now } from "../run/clock.ts";
import { LeaseLostError, messageOf } from "../run/errors.ts";
import type { StepRecord } from "../run/run.ts";
import type { Drive } from "./drive.ts";

/**
 * The engine's own session files as a copy in the store, made at each iteration's end and at the stop; only the latest is kept.
 * Copies are made one after the other, and a fault of one never fails an iteration: the stop's record names it.
 */
export function copySession(drive: Drive, agent: AgentSpec, session: string, iteration: number): Promise<void> {
  drive.copying = drive.copying.then(() => copyNow(drive, agent, session, iteration));
  return drive.copying;
}

async function copyNow(drive: Drive, agent: AgentSpec, session: string, iteration: number): Promise<void> {
  const { engines, identity, store } = drive.ctx;
  const { copies } = store;
  if (copies.refused !== null) return;
  try {
    const before = await copies.get(drive.run.run_id, "session");
    const known = new Set(before?.parts);
    const packed = await engines.packSession({
      agent,
      session_id: session,
      cwd: drive.repo.top,
      known,
      put: (part) => copies.putPart(part, known),
    });
    if (packed === null) return;
    await copies.set({
      run_id: drive.run.run_id,
      name: "session",
      fence: drive.fence,
      head: {
        about: session,
        host: identity.host,
        iteration,
        at: now(),
        bytes: packed.files.reduce((sum, file) => sum + file.bytes, 0),
      },
      contents: JSON.stringify(packed),
      parts: packed.files.flatMap((file) => file.parts),
    });
    drive.gaps.delete("session");
  } catch (error) {
    if (error instanceof LeaseLostError) return;
    drive.gaps.set("session", `no copy of the conversation after iteration ${iteration}: ${messageOf(error).slice(0, 200)}`);
    drive.ctx.log("warn", "the engine's session files could not be packed", {
      run_id: drive.run.run_id,
      error: messageOf(error),
    });
  }
}

/**
 * After a crash: the engine's files may hold more than the last copy. They are only taken where the run was driven last; files of
 * an earlier stay on this host would replace what another host added since.
 */
export async function copyLeftSession(drive: Drive, step: StepRecord | null): Promise<void> {
  const { engines, identity, store } = drive.ctx;
  if (drive.workspace === null || step === null) return;
  const attempts = await store.attempts(drive.run.run_id);
  const session = attempts.find((entry) => entry.step === step.step && entry.attempt === step.attempt)?.engine_session ?? null;
  if (session === null) return;
  try {
    const agent = await drive.ctx.agentsOf(drive.run.settings.config_path).resolve(drive.run.agent);
    if ((await engines.hasSession({ agent, session_id: session, cwd: drive.repo.top })) === false) return;
    const before = await store.copies.get(drive.run.run_id, "session");
    if (before !== null && before.about === session && before.host !== identity.host) return;
    await copySession(drive, agent, session, drive.run.iteration);
  } catch (error) {
    drive.ctx.log("warn", "the engine's session files were not looked at", {
      run_id: drive.run.run_id,
      error: messageOf(error),
    });
  }
}

/** Whether the engine can be asked to load the session here; `copy` when it came from the copy just now. */
export type SessionHere = { readonly ready: true; readonly copy: boolean } | { readonly ready: false; readonly why: string };

/**
 * Makes sure that the engine's files of the session are here and are the newest: files of an earlier stay on this host lack what
 * was said elsewhere since, and an engine that loads them claims to know everything all the same.
 */
export async function bringSession(drive: Drive, agent: AgentSpec, session: string): Promise<SessionHere> {
  const { engines, identity, store } = drive.ctx;
  const here = await engines.hasSession({ agent, session_id: session, cwd: drive.repo.top }).catch(() => null);
  const stored = await store.copies.get(drive.run.run_id, "session");
  const copy = stored?.about === session ? readSession(stored) : null;
  if (copy === null)
    return here === false
      ? {
          ready: false,
          why: `the agent's session files are not here${store.copies.refused === null ? "" : `; ${store.copies.refused}`}`,
        }
      : { ready: true, copy: false };
  if (here !== false && copy.host === identity.host) return { ready: true, copy: false };
  if (copy.packed === null) {
    return { ready: false, why: `the conversation went on on ${copy.host}, and ${copy.unreadable ?? "its copy is damaged"}` };
  }
  return (await unpack(drive, agent, copy)) ?? { ready: true, copy: true };
}

/** For an engine that did not load a session which it seemed to have; null when there is no copy to put back. */
export async function bringCopy(drive: Drive, agent: AgentSpec, session: string): Promise<SessionHere | null> {
  const stored = await drive.ctx.store.copies.get(drive.run.run_id, "session");
  const copy = stored?.about === session ? readSession(stored) : null;
  if (copy === null) return null;
  if (copy.packed === null) return { ready: false, why: copy.unreadable ?? "its copy is damaged" };
  return (await unpack(drive, agent, copy)) ?? { ready: true, copy: true };
}

async function unpack(drive: Drive, agent: AgentSpec, copy: StoredSession): Promise<SessionHere | null> {
  const { engines, store } = drive.ctx;
  if (copy.packed === null) return null;
  try {
    await engines.unpackSession({
      agent,
      session_id: copy.about,
      cwd: drive.repo.top,
      packed: copy.packed,
      packed_at: copy.at,
      part: (id) => store.copies.part(id),
    });
    return null;
  } catch (error) {
    drive.ctx.log("warn", "the engine's session files could not be put back", {
      run_id: drive.run.run_id,
      error: messageOf(error),
    });
    return {
      ready: false,
      why: `the copy of the agent's session files could not be put back: ${messageOf(error).slice(0, 200)}`,
    };
  }
}
