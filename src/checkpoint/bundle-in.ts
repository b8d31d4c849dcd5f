import { LoopkeeperError } from "../run/errors.ts";
import { shellQuoted } from "../run/shell-quoted.ts";
import type { Checkpoints } from "./checkpoint.ts";
import { GitFailure } from "./git.ts";
import { commitOf, fullBranch } from "./head.ts";
import { withPrivateLock } from "./lock.ts";
import { checkpointRef, incomingRef, listRefs } from "./refs.ts";
import type { RepoGit } from "./repo-git.ts";
import { zeroOid } from "./user-index.ts";

type Input = Parameters<Checkpoints["unbundle"]>[1];

/** Brings commits into this repository; false when they could not be had. */
export type FetchCommits = (git: RepoGit, url: string, commits: readonly string[], into: string) => Promise<boolean>;

/** Lets git read our own bundle file, and nothing else. */
const FROM_FILE = { env: { GIT_ALLOW_PROTOCOL: "file" }, config: ["protocol.file.allow=always"] } as const;

/** Commits that the bundle builds on and that this clone lacks. */
async function missingFor(git: RepoGit, file: string): Promise<string[]> {
  try {
    await git.run(["bundle", "verify", file]);
    return [];
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    const missing = [...error.stderr.matchAll(/^error: ([0-9a-f]{40,64})\b/gm)].map((match) => match[1] ?? "");
    if (missing.length === 0) throw damaged();
    return missing;
  }
}

/** Fetches a run's checkpoints out of a bundle: hidden refs, and the run's own branch where that loses nothing. */
export async function unbundleCheckpoints(git: RepoGit, input: Input, fetch: FetchCommits): Promise<void> {
  await withPrivateLock(git.private_dir, async () => {
    try {
      await ensurePrerequisites(git, input, fetch);
      await fetchBundle(git, input);
      await settle(git, input);
    } finally {
      await dropIncoming(git, input.run_id);
    }
  });
}

async function fetchBundle(git: RepoGit, input: Input): Promise<void> {
  const refs = `+${outgoingPattern(input)}:${incomingRef(input.run_id, "*")}`;
  const quietly = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"];
  try {
    await git.run(["fetch", ...quietly, input.file, refs], FROM_FILE);
  } catch (error) {
    if (!(error instanceof GitFailure) || error.code !== null) throw error;
    throw damaged();
  }
}

function damaged(): LoopkeeperError {
  return problem("The copy of the run's tree in the store cannot be read by git; it is damaged.");
}

function outgoingPattern({ run_id }: Input): string {
  return incomingRef(run_id, "*").replace("/in/", "/out/");
}

async function ensurePrerequisites(git: RepoGit, input: Input, fetch: FetchCommits): Promise<void> {
  const missing = await missingFor(git, input.file);
  // What is here but in no branch any more counts as missing for git: a ref makes it known.
  const absent: string[] = [];
  for (const [n, commit] of missing.entries()) {
    if ((await commitOf(git, commit)) === null) absent.push(commit);
    else await git.run(["update-ref", incomingRef(input.run_id, `here-${n}`), commit]);
  }
  if (absent.length > 0) await fetchAbsent(git, input, absent, fetch);
  const still = await missingFor(git, input.file);
  if (still.length > 0) throw lacking(git, still, "and what is here of it is not whole");
}

async function fetchAbsent(git: RepoGit, input: Input, absent: readonly string[], fetch: FetchCommits): Promise<void> {
  const { remote_name } = git.repo;
  if (!input.fetch) throw lacking(git, absent, "and fetch_remote is off");
  if (remote_name === null) throw lacking(git, absent, "and it has no remote to fetch them from");
  const url = (await git.run(["ls-remote", "--get-url", "--", remote_name])).text;
  if (!(await fetch(git, url, absent, incomingRef(input.run_id, "fetched"))))
    throw lacking(git, absent, `and remote ${remote_name} did not give them`);
}

/** One commit of the remote, kept under a hidden ref. */
export async function fetchOne(git: RepoGit, commit: string, fetch: FetchCommits): Promise<boolean> {
  const { remote_name } = git.repo;
  if (remote_name === null) return false;
  const url = (await git.run(["ls-remote", "--get-url", "--", remote_name])).text;
  return fetch(git, url, [commit], `refs/loopkeeper/kept/${commit}`);
}

function lacking(git: RepoGit, commits: readonly string[], why: string): LoopkeeperError {
  const remote = git.repo.remote_name ?? "<a clone that has them>";
  const list = commits.slice(0, 5).join(" ");
  return problem(
    `The run's work builds on ${commits.length === 1 ? "commit" : "commits"} ${list}, which ${git.repo.top} lacks, ${why}. Run: git -C ${shellQuoted(git.repo.top)} fetch ${remote} ${list} - and call again.`,
  );
}

/** Moves what came in to its place. A checkpoint that is here with other content stays under a hidden ref of its own. */
async function settle(git: RepoGit, input: Input): Promise<void> {
  const prefix = incomingRef(input.run_id, "");
  const arrived = (await listRefs(git, prefix)).filter(({ ref }) => !/^(here-\d+|fetched.*)$/.test(ref.slice(prefix.length)));
  const lines: string[] = [];
  for (const { ref, commit } of arrived) {
    const id = ref.slice(prefix.length);
    if (id === "branch") continue;
    const place = checkpointRef(input.run_id, id);
    const present = await commitOf(git, place);
    if (present !== null && present !== commit) lines.push(`update refs/loopkeeper/kept/${present} ${present}`);
    if (present !== commit) lines.push(`update ${place} ${commit}`);
  }
  const tip = arrived.find(({ ref }) => ref === incomingRef(input.run_id, "branch"))?.commit ?? null;
  if (input.branch !== null && tip !== null) lines.push(...(await branchLines(git, fullBranch(input.branch), tip)));
  if (lines.length > 0)
    await git.run(["update-ref", "-m", "loopkeeper: brought from another clone", "--stdin"], { input: `${lines.join("\n")}\n` });
}

/** The run's own branch is made where it is missing and moved where it only lacks commits, unless somebody has it checked out. */
async function branchLines(git: RepoGit, branch: string, tip: string): Promise<string[]> {
  const present = await commitOf(git, branch);
  if (present === null) return [`update ${branch} ${tip} ${zeroOid(git)}`];
  if (present === tip) return [];
  const behind = (await git.run(["merge-base", "--is-ancestor", present, tip], { ok: [0, 1, 128] })).code === 0;
  const held = (await git.run(["worktree", "list", "--porcelain"])).text.split("\n").includes(`branch ${branch}`);
  return behind && !held ? [`update ${branch} ${tip} ${present}`] : [];
}

async function dropIncoming(git: RepoGit, runId: string): Promise<void> {
  const left = await listRefs(git, incomingRef(runId, ""));
  if (left.length > 0) await git.run(["update-ref", "--stdin"], { input: left.map(({ ref }) => `delete ${ref}\n`).join("") });
}

function problem(message: string): LoopkeeperError {
  return new LoopkeeperError("repository_problem", message);
}
