import { randomUUID } from "node:crypto";
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

/** One line of a session's file. Lines are appended as things happen, so that a killed agent loses nothing it said. */
const lineSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("session"), id: z.string(), cwd: z.string() }),
  z.strictObject({ type: z.literal("prompt"), text: z.string(), numbered: z.boolean() }),
  z.strictObject({ type: z.literal("said"), text: z.string() }),
]);
export type SessionLine = z.output<typeof lineSchema>;

export interface StoredSession {
  readonly id: string;
  readonly file: string;
  readonly lines: SessionLine[];
}

const isSessionId = (id: string): boolean => /^[\w-]{1,64}$/.test(id);

export async function createSession(folder: string, cwd: string): Promise<StoredSession> {
  const id = randomUUID();
  const session: StoredSession = { id, file: join(folder, `${id}.jsonl`), lines: [] };
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await append(session, { type: "session", id, cwd });
  return session;
}

/** The session as it was recorded, or null when there is none. A torn last line, as after a power cut, is left out. */
export async function openSession(folder: string, id: string): Promise<StoredSession | null> {
  if (!isSessionId(id)) return null;
  const file = join(folder, `${id}.jsonl`);
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) return null;
  return { id, file, lines: text.split("\n").flatMap(parseLine) };
}

export async function append(session: StoredSession, line: SessionLine): Promise<void> {
  session.lines.push(line);
  await appendFile(session.file, `${JSON.stringify(line)}\n`, { mode: 0o600 });
}

/** How many numbered turns this session has played or begun. */
export function numberedTurns(session: StoredSession): number {
  return session.lines.filter((line) => line.type === "prompt" && line.numbered).length;
}

export function earlierPrompts(session: StoredSession): readonly string[] {
  return session.lines.flatMap((line) => (line.type === "prompt" ? [line.text] : []));
}

function parseLine(text: string): readonly SessionLine[] {
  try {
    const parsed = lineSchema.safeParse(JSON.parse(text));
    return parsed.success ? [parsed.data] : [];
  } catch {
    return [];
  }
}
