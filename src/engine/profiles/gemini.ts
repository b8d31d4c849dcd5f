import { createReadStream } from "node:fs";
import { open, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { epochMs } from "../../run/clock.ts";
import type { EngineProfile, SessionFile, SessionPlace } from "./profile.ts";
import { findFiles } from "./session-files.ts";

/** Gemini CLI. */
export const gemini: EngineProfile = {
  name: "gemini",
  environment: () => ({}),
  modes: { all: ["yolo", "autoEdit", "default"], edits: ["autoEdit", "default", "plan"], ask: ["default", "plan"] },
  quirks: {
    cancelLosesTurn: true,
    commandIsTitle: true,
    noise: /^\[MODE_UPDATE\] \w+$/,
    bookkeeping: /^(Set \d+ todo\(s\)|Cleared? todo.*)$/i,
  },
  /**
   * A load opens a recording that is named after the session and the minute; in the minute of the session's own recording
   * that is the same file, and the past in it is lost: so the own one gets a name that is made for no minute, and Gemini
   * goes on writing under it. The new one stays empty, and the next load takes a session with an empty recording for a
   * broken one and deletes all of it: so the empty ones go first.
   */
  async beforeLoad(place) {
    for (const { name, path } of await recordings(place)) {
      if (!(await holdsConversation(path))) await rm(path, { force: true });
      else {
        const kept = join(folderOf(place), name.replace(NAMED_BY_MINUTE, `$1-kept-${epochMs()}-`));
        if (kept !== path) await rename(path, kept);
      }
    }
  },
  async sessionFiles(place) {
    const files: SessionFile[] = [];
    for (const file of await recordings(place)) if (await holdsConversation(file.path)) files.push(file);
    return { files };
  },
  // Names hold only the beginning of the id; the first line holds all of it.
  async isOf(path, sessionId) {
    const file = await open(path, "r");
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(4096), 0, 4096, 0);
      return buffer.toString("utf8", 0, bytesRead).split("\n")[0]?.includes(sessionId) ?? false;
    } finally {
      await file.close();
    }
  },
  // A project's folder is named after its directory and holds a file that says whose it is.
  async sessionTarget(place, { names }) {
    const project = await projectFolder(place);
    // A recording that was here before has its name of that time: a second one of the same would be loaded or not by chance.
    const present = new Map((await recordings(place)).map(({ name }) => [plainName(name), name]));
    return {
      root: folderOf(place),
      names: names.map((name) => present.get(plainName(name)) ?? `${project}/${name.split("/").slice(2).join("/")}`),
      beside: [{ name: `${project}/${OWNER_FILE}`, text: place.cwd }],
    };
  },
};

/** `session-2026-11-29T19-58-` and the beginning of the id, as Gemini itself names a recording. */
const NAMED_BY_MINUTE = /(session-\d{4}-\d\d-\d\dT\d\d-\d\d)-(?=[0-9a-f]{8}\.jsonl$)/;

/** The file's name as Gemini itself gave it. */
function plainName(name: string): string {
  return basename(name).replace(/-kept-\d+-/, "-");
}

const OWNER_FILE = ".project_root";

function folderOf(place: SessionPlace): string {
  return join(place.env["GEMINI_CLI_HOME"] ?? place.env["HOME"] ?? "/", ".gemini");
}

/** `tmp/<project>/chats/session-<minute>-<first 8 of the id>.jsonl`, one for each time that the session was opened. */
function recordings(place: SessionPlace): Promise<readonly SessionFile[]> {
  const end = `-${place.session_id.slice(0, 8)}.jsonl`;
  return findFiles(folderOf(place), "tmp", (name) => name.includes("/chats/session-") && name.endsWith(end));
}

/** Whether it has a message, not only the lines that describe a session. */
async function holdsConversation(path: string): Promise<boolean> {
  let seen = "\n";
  for await (const piece of createReadStream(path, "utf8")) {
    seen += String(piece);
    if (seen.includes('\n{"id":')) return true;
    seen = seen.slice(-8);
  }
  return false;
}

/** The folder that belongs to the working directory, else the first one of its name that belongs to no other. */
async function projectFolder(place: SessionPlace): Promise<string> {
  const owners = await findFiles(folderOf(place), "tmp", (name) => basename(name) === OWNER_FILE);
  for (const { name, path } of owners) if ((await readFile(path, "utf8")).trim() === place.cwd) return dirname(name);
  const slug =
    basename(place.cwd)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "-")
      .replaceAll(/^-|-$/g, "") || "project";
  const taken = new Set(owners.map(({ name }) => dirname(name)));
  let folder = `tmp/${slug}`;
  for (let n = 1; taken.has(folder); n += 1) folder = `tmp/${slug}-${n}`;
  return folder;
}
