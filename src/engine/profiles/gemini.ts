import { rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { epochMs } from "../../run/clock.ts";
import type { EngineProfile, SessionFile, SessionPlace } from "./profile.ts";
import { readFiles, writeMissingFiles } from "./session-files.ts";

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
    const all = await recordings(place);
    const empty = all.filter((file) => !holdsConversation(file));
    if (empty.length < all.length) await Promise.all(empty.map(({ name }) => rm(join(folderOf(place), name), { force: true })));
    for (const { name } of all.filter(holdsConversation)) {
      const kept = name.replace(NAMED_BY_MINUTE, `$1-kept-${epochMs()}-`);
      if (kept !== name) await rename(join(folderOf(place), name), join(folderOf(place), kept));
    }
  },
  packSession: async (place) => (await recordings(place)).filter(holdsConversation),
  // A project's folder is named after its directory and holds a file that says whose it is.
  async unpackSession(place, { files }) {
    const project = await projectFolder(place);
    const moved = files.map(({ name, bytes }) => ({ name: `${project}/${name.split("/").slice(2).join("/")}`, bytes }));
    const owner = { name: `${project}/${OWNER_FILE}`, bytes: Buffer.from(place.cwd) };
    await writeMissingFiles(folderOf(place), [...moved, owner]);
  },
};

/** `session-2026-11-29T19-58-` and the beginning of the id, as Gemini itself names a recording. */
const NAMED_BY_MINUTE = /(session-\d{4}-\d\d-\d\dT\d\d-\d\d)-(?=[0-9a-f]{8}\.jsonl$)/;

const OWNER_FILE = ".project_root";

function folderOf(place: SessionPlace): string {
  return join(place.env["GEMINI_CLI_HOME"] ?? place.env["HOME"] ?? "/", ".gemini");
}

/** `tmp/<project>/chats/session-<minute>-<first 8 of the id>.jsonl`, one for each time that the session was opened. */
function recordings(place: SessionPlace): Promise<readonly SessionFile[]> {
  const end = `-${place.session_id.slice(0, 8)}.jsonl`;
  return readFiles(folderOf(place), "tmp", (name) => name.includes("/chats/session-") && name.endsWith(end));
}

/** Whether it has a message, not only the lines that describe a session. */
function holdsConversation({ bytes }: SessionFile): boolean {
  return /^\{"id":/m.test(Buffer.from(bytes).toString("utf8"));
}

/** The folder that belongs to the working directory, else the first one of its name that belongs to no other. */
async function projectFolder(place: SessionPlace): Promise<string> {
  const owners = await readFiles(folderOf(place), "tmp", (name) => basename(name) === OWNER_FILE);
  const own = owners.find(({ bytes }) => Buffer.from(bytes).toString("utf8").trim() === place.cwd);
  if (own !== undefined) return dirname(own.name);
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
