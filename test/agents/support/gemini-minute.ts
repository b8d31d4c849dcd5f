import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";

/**
 * Gemini names a session's file after the minute, and loading a session within the minute of its last recording empties that file.
 * Giving the files another minute keeps them, without waiting.
 */
export async function agePastMinute(home: string): Promise<void> {
  const projects = join(home, ".gemini/tmp");
  for (const project of await readdir(projects)) {
    const chats = join(projects, project, "chats");
    for (const file of await readdir(chats).catch(() => []))
      await rename(join(chats, file), join(chats, file.replace(/T\d\d-\d\d-/, "T00-00-")));
  }
}
