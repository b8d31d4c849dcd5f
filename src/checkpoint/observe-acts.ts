import { readFile, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { z } from "zod";
import type { Act } from "../run/act.ts";
import { isoOf } from "../run/clock.ts";
import { sha256 } from "../run/id.ts";
import { type Intent, intentsOf, makesCommits } from "./act-intents.ts";
import { readStand } from "./head.ts";
import type { RepoGit } from "./repo-git.ts";

/** Where HEAD's reflog and the refs stood. */
const markSchema = z.object({
  v: z.literal(1),
  head: z.string().nullable(),
  /** Hash of the reflog's last line (marks of earlier versions: the line itself): tells whether the log was rewritten since. */
  last_line: z.string(),
  /** Branches, tags and remote-tracking refs; null when there were too many to keep. */
  refs: z.record(z.string(), z.string()).nullable(),
});
type Mark = z.infer<typeof markSchema>;

export interface ObserveInput {
  readonly iteration: number;
  readonly at: string;
  readonly commands: readonly { readonly command: string; readonly outcome: "ok" | "failed" | null }[];
}

const MAX_REFS = 5_000;

export async function actMark(git: RepoGit): Promise<string> {
  const { refs, head } = await readRefs(git);
  const mark: Mark = {
    v: 1,
    head,
    // The line holds a commit's subject, and what is stored is redacted: a line with a credential in it would not be found again.
    last_line: hashed((await readReflog(git))?.at(-1) ?? ""),
    refs: Object.keys(refs).length > MAX_REFS ? null : refs,
  };
  return JSON.stringify(mark);
}

export async function observeActs(git: RepoGit, markText: string, input: ObserveInput): Promise<Act[]> {
  const mark = markSchema.parse(JSON.parse(markText));
  const entries = await reflogSince(git, mark);
  const commits =
    entries === null ? await commitsWithoutReflog(git, mark, input) : commitsOf(withoutStrangers(git, entries, input), input);
  const seen: Seen = { mark, entries: entries ?? [], ...(await readRefs(git)) };
  const acts: Act[] = [...commits];
  for (const { command, outcome } of input.commands) {
    for (const intent of intentsOf(command)) {
      const act = await judge(git, intent, outcome, seen, input);
      if (act !== null && !acts.some((one) => one.kind === act.kind && one.what === act.what && one.ref === act.ref))
        acts.push(act);
    }
  }
  return acts;
}

interface Seen {
  readonly mark: Mark;
  readonly refs: Readonly<Record<string, string>>;
  readonly entries: readonly ReflogEntry[];
  readonly head: string | null;
  readonly branch: string | null;
}

interface ReflogEntry {
  readonly from: string;
  readonly to: string;
  /** Of whoever moved HEAD. */
  readonly email: string;
  readonly seconds: number;
  readonly message: string;
}

/** Reflog messages of entries whose new commit was made here, not fetched or checked out. */
const MADE_HERE =
  /^(commit( \(.+\))?|cherry-pick|revert|am|rebase \((pick|reword|edit|squash|fixup|continue|merge)\)|merge .+: Merge made.*|pull.*: Merge made.*)(:|$)/;

function commitsOf(entries: readonly ReflogEntry[], input: ObserveInput): Act[] {
  return entries.flatMap((entry, n) => {
    if (!MADE_HERE.test(entry.message)) return [];
    // A commit that was amended at once is replaced by its successor.
    const next = entries[n + 1];
    if (next?.from === entry.to && next.message.startsWith("commit (amend)")) return [];
    const what = entry.message.slice(entry.message.indexOf(":") + 1).trim() || entry.message;
    return [
      { kind: "commit", what, ref: entry.to, iteration: input.iteration, at: isoOf(entry.seconds * 1000), status: "landed" },
    ];
  });
}

/**
 * Without what somebody else did in the same tree meanwhile: an engine works under the identity that git has here, so a
 * move under another one is a stranger's, unless a command of the run names that identity or sets one.
 */
function withoutStrangers(git: RepoGit, entries: readonly ReflogEntry[], input: ObserveInput): readonly ReflogEntry[] {
  const own = git.config.last("user.email")?.trim() ?? "";
  if (own === "" || entries.every((entry) => entry.email === own)) return entries;
  const commands = input.commands.map(({ command }) => command).join("\n");
  const setsIdentity = /user\.(?:email|name)|GIT_COMMITTER_(?:EMAIL|NAME)/.test(commands);
  return entries.filter((entry) => entry.email === own || setsIdentity || commands.includes(entry.email));
}

/** A repository that keeps no reflog: then HEAD's move counts only if a command of the run makes commits. */
async function commitsWithoutReflog(git: RepoGit, mark: Mark, input: ObserveInput): Promise<Act[]> {
  if (!input.commands.some(({ command }) => makesCommits(command))) return [];
  const range = mark.head === null ? ["HEAD"] : ["HEAD", "--not", mark.head];
  const listed = await git.run(["log", "-z", "--reverse", "--first-parent", "-n", "200", "--format=%H%x09%s", ...range], {
    ok: [0, 128],
  });
  return listed.text.split("\0").flatMap((line) => {
    const tab = line.indexOf("\t");
    if (tab < 0) return [];
    return [
      {
        kind: "commit",
        what: line.slice(tab + 1),
        ref: line.slice(0, tab),
        iteration: input.iteration,
        at: input.at,
        status: "landed",
      },
    ];
  });
}

/** Whether what a command asked for is there; null when nothing came of it. */
async function judge(
  git: RepoGit,
  intent: Intent,
  outcome: "ok" | "failed" | null,
  seen: Seen,
  input: ObserveInput,
): Promise<Act | null> {
  const act = (status: Act["status"], ref: string | null): Act => ({
    kind: intent.kind,
    what: intent.what,
    ref,
    iteration: input.iteration,
    at: input.at,
    status,
  });
  const found = (await isElsewhere(git, intent.folder)) ? null : await confirm(git, intent, seen);
  if (found?.is === "new") return act("landed", found.ref);
  if (found?.is === "old" && outcome !== null) return null;
  if (outcome === "failed" && !intent.mixed) return null;
  if (outcome === "ok" && found?.is === "absent") return null;
  // Tools outside of git leave no ref; their own success is the evidence.
  if (outcome === "ok" && found === null && !intent.mixed && !isGit(intent)) return act("landed", null);
  return act("unobserved", found?.ref ?? null);
}

function isGit(intent: Intent): boolean {
  return intent.what.startsWith("git ");
}

/** `new`: came with this window. `old`: was there before. `absent`: refs would show it, and do not. Null: refs cannot tell. */
type Confirmed = { readonly is: "new" | "old" | "absent"; readonly ref: string | null } | null;

async function confirm(git: RepoGit, intent: Intent, seen: Seen): Promise<Confirmed> {
  if (!isGit(intent)) return null;
  if (intent.kind === "push") return confirmPush(git, intent, seen);
  if (intent.kind === "merge") {
    const entry = seen.entries.findLast(({ message }) => /^(merge |commit \(merge\))/.test(message));
    return entry === undefined ? { is: "absent", ref: null } : { is: "new", ref: entry.to };
  }
  const { ref } = intent;
  if (ref === null) return null;
  if (seen.refs[ref] === undefined) return { is: "absent", ref };
  return { is: seen.mark.refs?.[ref] === undefined ? "new" : "old", ref };
}

/** A push landed when a remote-tracking ref moved since the mark and now contains the local commit. */
async function confirmPush(git: RepoGit, intent: Intent, seen: Seen): Promise<Confirmed> {
  const remote = intent.remote ?? git.repo.remote_name;
  const target = intent.ref ?? seen.branch?.replace(/^refs\/heads\//, "") ?? null;
  if (remote === null || target === null) return null;
  if (target.startsWith("refs/tags/") || seen.refs[`refs/tags/${target}`] !== undefined) return null;
  const ref = `refs/remotes/${remote}/${target}`;
  const [before, now] = [seen.mark.refs?.[ref], seen.refs[ref]];
  if (intent.deletes) return before !== undefined && now === undefined ? { is: "new", ref } : null;
  const local = seen.refs[`refs/heads/${target}`] ?? seen.head;
  if (now === undefined || local === null) return null;
  const contains = (await git.run(["merge-base", "--is-ancestor", local, now], { ok: [0, 1, 128] })).code === 0;
  if (!contains) return null;
  return { is: before === now ? "old" : "new", ref };
}

/** True when a command worked in another folder than this working tree. */
async function isElsewhere(git: RepoGit, folder: string | null): Promise<boolean> {
  if (folder === null || folder.includes("$")) return false;
  const path = isAbsolute(folder) ? folder : resolve(git.repo.top, folder);
  if (path === git.repo.top || path.startsWith(`${git.repo.top}/`)) return false;
  return (await stat(path).catch(() => null)) !== null;
}

/** Branches, tags, remote-tracking refs and HEAD: with one git process, unless HEAD is on no branch that has a commit. */
async function readRefs(git: RepoGit): Promise<Pick<Seen, "refs" | "head" | "branch">> {
  const format = "--format=%(HEAD)%(objectname) %(refname)";
  const listed = await git.run(["for-each-ref", format, "refs/heads", "refs/tags", "refs/remotes"]);
  const found = listed.text.split("\n").flatMap((line) => {
    const space = line.indexOf(" ", 1);
    return space < 0 ? [] : [{ ref: line.slice(space + 1), oid: line.slice(1, space), is_head: line.startsWith("*") }];
  });
  const refs = Object.fromEntries(found.map(({ ref, oid }) => [ref, oid]));
  const on = found.find((one) => one.is_head);
  return on === undefined ? { refs, ...(await readStand(git)) } : { refs, head: on.oid, branch: on.ref };
}

/** HEAD's reflog of this working tree alone, from a byte on; null when there is none. Others' worktrees have their own. */
async function readReflog(git: RepoGit): Promise<string[] | null> {
  const text = await readFile(join(git.repo.git_dir, "logs", "HEAD"), "utf8").catch(() => null);
  return text === null ? null : text.split("\n").filter((line) => line !== "");
}

function hashed(line: string): string {
  return line === "" ? "" : sha256(line);
}

async function reflogSince(git: RepoGit, mark: Mark): Promise<ReflogEntry[] | null> {
  const lines = await readReflog(git);
  if (lines === null) return null;
  const at =
    mark.last_line === "" ? -1 : lines.findLastIndex((line) => line === mark.last_line || hashed(line) === mark.last_line);
  // The marked line is gone when old entries expired: then everything that is left came after it.
  return lines.slice(at + 1).flatMap((line) => {
    const parts = /^([0-9a-f]+) ([0-9a-f]+) .*<([^<>]*)> (\d+) [+-]\d+\t(.*)$/.exec(line);
    if (parts === null) return [];
    const [, from = "", to = "", email = "", seconds = "0", message = ""] = parts;
    return [{ from, to, email, seconds: Number(seconds), message }];
  });
}
