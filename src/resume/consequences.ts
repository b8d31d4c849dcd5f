import type { Checkpoints } from "../checkpoint/checkpoint.ts";
import type { Act } from "../run/act.ts";
import { isoOf, msOf, now } from "../run/clock.ts";
import type { CheckpointRecord, RunRecord, StepRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import { driftSince, ownCommits } from "./drift-since.ts";
import { whyNotCovered } from "./not-covered.ts";
import { emptyTree, ownersOf } from "./owners.ts";
import type { EntryPoint } from "./redo.ts";
import { HEAD_CONFLICT, type RunRestore } from "./restore.ts";
import { oneLine, quoted } from "./shown.ts";
import { isTakenBack, leavesTheBranch, restoresOf } from "./taken-back.ts";

/** What a destructive action does, told before it is done. */
export interface Consequences {
  happens: string[];
  undoes: string[];
  cannot_undo: string[];
  conflicts: { path: string; changed_by: string }[];
}

interface Deps {
  readonly store: Pick<Store, "acts" | "checkpoint" | "checkpoints" | "runArtifacts" | "runsOfRepository" | "events">;
  readonly checkpoints: Checkpoints;
}

const LISTED = 20;

export async function resetConsequences(
  deps: Deps,
  run: RunRecord,
  restore: RunRestore,
  wish: { readonly to_start: boolean; readonly restart: boolean; readonly overwrite: readonly string[] },
): Promise<Consequences> {
  const { target } = restore;
  return restoreConsequences(deps, run, restore, {
    overwrite: wish.overwrite,
    verb: "is reset",
    back_to: wish.to_start
      ? "the state before the run began"
      : `checkpoint ${target.id} (${target.kind}, iteration ${target.iteration}, ${target.at})`,
    afterwards: [
      wish.restart
        ? "A new run with the same settings is started."
        : wish.to_start
          ? "The run stays stopped and cannot be resumed until it is reset to its safety checkpoint."
          : "The run stays resumable, by hand-off: its engine's conversation is not continued.",
    ],
    undoes: [],
  });
}

/** What taking a step up again from its entry does. */
export async function redoConsequences(
  deps: Deps,
  run: RunRecord,
  restore: RunRestore,
  wish: { readonly point: EntryPoint; readonly overwrite: readonly string[]; readonly instructions: string | null },
): Promise<Consequences> {
  const { step, began_after, dependents } = wish.point;
  const names = (steps: readonly StepRecord[]) => steps.map((other) => oneLine(other.step, 60)).join(", ");
  return restoreConsequences(deps, run, restore, {
    overwrite: wish.overwrite,
    verb: `is taken up again from step ${oneLine(step.step, 60)}`,
    back_to: `the state in which that step began (checkpoint ${restore.target.id}, ${restore.target.at})`,
    afterwards: [
      `Step ${oneLine(step.step, 60)} runs as attempt ${step.attempt + 1}, in a new engine session that is handed over to; then the run goes on to its end.`,
      ...(wish.instructions === null ? [] : [`Its agent is told by you: ${quoted(wish.instructions, 160)}`]),
      ...(began_after.length > 0 ? [`Steps that began after it run again: ${names(began_after)}.`] : []),
      ...(dependents.length > 0 ? [`Steps that need it wait for it: ${names(dependents)}.`] : []),
    ],
    undoes: [step, ...began_after].map(
      (other) =>
        `the work of step ${oneLine(other.step, 60)} (${other.state}, ${other.iteration} iterations, attempt ${other.attempt})`,
    ),
  });
}

async function restoreConsequences(
  deps: Deps,
  run: RunRecord,
  restore: RunRestore,
  wish: {
    readonly overwrite: readonly string[];
    readonly verb: string;
    readonly back_to: string;
    readonly afterwards: readonly string[];
    readonly undoes: readonly string[];
  },
): Promise<Consequences> {
  const { plan, target } = restore;
  const restores = await restoresOf(deps.store, run.run_id);
  const acts = (await deps.store.acts(run.run_id, 500)).filter((act) => isAfter(act, target) && !isTakenBack(act, restores));
  const overwritten = wish.overwrite.filter((path) => plan.restore.includes(path) || plan.remove.includes(path));
  return {
    happens: [
      await whichRun(deps, run, wish.verb),
      `Its files go back to ${wish.back_to}: ${plan.restore.length} restored, ${plan.remove.length} removed.`,
      ...headHappens(run, restore),
      ...operationHappens(restore),
      "Everything that is removed is kept in a safety checkpoint first; resetting to it brings all of it back.",
      ...(overwritten.length > 0
        ? [`Overwritten although others changed them: ${overwritten.slice(0, LISTED).join(", ")}.`]
        : []),
      ...(await leftAlone(deps, run, restore)),
      ...wish.afterwards,
    ],
    undoes: [
      ...wish.undoes,
      ...listed("restores", plan.restore),
      ...listed("removes", plan.remove),
      ...(plan.head === null ? [] : acts.filter(leavesTheBranch).slice(-LISTED).map(undoneCommit)),
    ],
    cannot_undo: [
      ...acts
        .filter((act) => plan.head === null || !leavesTheBranch(act))
        .slice(-LISTED)
        .map(lastingAct),
      ...(await uncovered(deps, run, restore)),
    ],
    conflicts: await conflictsOf(deps, run, restore),
  };
}

/** Acts of later iterations. Git tells the time of a commit in whole seconds. */
function isAfter(act: Act, target: CheckpointRecord): boolean {
  return act.iteration > target.iteration && act.at >= isoOf(msOf(target.at) - 1_000);
}

function undoneCommit(act: Act): string {
  return `${act.kind} ${act.ref?.slice(0, 12) ?? ""} "${oneLine(act.what, 80)}" leaves the branch (kept under a hidden ref)`;
}

function lastingAct(act: Act): string {
  const seen = act.status === "unobserved" ? ", its outcome was never seen" : "";
  const ref = act.ref === null ? "" : ` (${act.ref})`;
  return `${act.kind}: ${oneLine(act.what, 120)}${ref}${seen}, stays`;
}

function headHappens(run: RunRecord, { plan, repo }: RunRestore): string[] {
  if (plan.head === null) return [];
  const to = plan.head.to?.slice(0, 12) ?? "no commit";
  const { branch } = plan.head;
  if (branch === undefined) return [`${short(repo.branch) ?? run.branch ?? "HEAD"} goes back to ${to}.`];
  return [
    `HEAD goes back from ${short(branch.from) ?? "no branch"} to ${short(branch.to) ?? "no branch"} at ${to}; ${short(branch.from) ?? "what it was on"} stays where it is.`,
  ];
}

function operationHappens({ plan: { operation } }: RunRestore): string[] {
  if (operation === null) return [];
  const { from, to } = operation;
  if (to === null) return [`The ${from} that the run left under way is over: its conflicts go with it.`];
  return [
    from === null
      ? `The ${to} that was under way then is under way again.`
      : `The ${from} under way goes back to where it was then.`,
  ];
}

const short = (ref: string | null): string | null => ref?.replace(/^refs\/heads\//u, "") ?? null;

/** Names the run so that nobody resets the wrong one. */
export async function whichRun(
  deps: { readonly store: Pick<Store, "runsOfRepository"> },
  run: RunRecord,
  verb: string,
): Promise<string> {
  const hours = (msOf(now()) - msOf(run.created_at)) / 3_600_000;
  const age = hours < 1 ? `${Math.round(hours * 60)} min` : `${hours.toFixed(1)} h`;
  const runs = await deps.store.runsOfRepository({
    owner: run.owner,
    common_dir: run.repo_common_dir,
    remote: run.repo_remote,
    limit: 10,
  });
  const newer = runs.find((other) => other.run_id !== run.run_id && other.created_at > run.created_at);
  return `Run ${run.run_id} ("${oneLine(run.objective, 120)}") on ${run.repo_path}, branch ${short(run.branch) ?? "none"}, started ${age} ago, ${verb}.${newer === undefined ? "" : ` A newer run on this repository is ${newer.run_id} ("${oneLine(newer.objective, 60)}", ${newer.state}).`}`;
}

/** Uncommitted files that are somebody else's, so that nobody fears for them. */
async function leftAlone(deps: Deps, run: RunRecord, restore: RunRestore): Promise<string[]> {
  const { plan, repo } = restore;
  const diff = await deps.checkpoints.diffSummary(repo, repo.head ?? emptyTree(repo), plan.tree, 200);
  const own = new Set(restore.owned.files.keys());
  const others = diff.files.map((file) => file.path).filter((path) => !own.has(path));
  if (others.length === 0) return [];
  const owners = await ownersOf(deps, { run, repo, tree: plan.tree, owned: restore.owned.files, paths: others });
  const named = others.slice(0, LISTED).map((path) => {
    const owner = owners.get(path);
    return `${oneLine(path, 100)} (${owner?.kind === "other_run" ? `changed by run ${owner.run_id}` : "not changed by this run"})`;
  });
  const more = others.length - named.length;
  return [`Left as it is: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`];
}

async function conflictsOf(deps: Deps, run: RunRecord, restore: RunRestore): Promise<Consequences["conflicts"]> {
  const { plan, repo } = restore;
  const files = restore.owned.files;
  // HEAD first: it must not be lost among many files.
  const paths = plan.conflicts.filter((path) => path !== HEAD_CONFLICT);
  const owners = await ownersOf(deps, { run, repo, tree: plan.tree, owned: files, paths });
  const head = plan.conflicts.includes(HEAD_CONFLICT)
    ? [{ path: HEAD_CONFLICT, changed_by: await whoMovedHead(deps, run, restore) }]
    : [];
  const named = paths.map((path) => {
    const owner = owners.get(path);
    if (owner?.kind === "other_run") return { path, changed_by: `run ${owner.run_id}` };
    if (owner?.kind === "this_run")
      return { path, changed_by: "this run, but something of somebody else stands in its way or came before" };
    const unattributed = files.get(path)?.unattributed_after != null;
    return {
      path,
      changed_by: unattributed
        ? "unattributed: it changed while the run worked, but no tool call or commit of the run names it"
        : "somebody else since",
    };
  });
  return [...head, ...named].slice(0, 3 * LISTED);
}

async function whoMovedHead(deps: Deps, run: RunRecord, { target }: RunRestore): Promise<string> {
  const drift = await driftSince(deps, run, target, { own_commits: await ownCommits(deps, run), remote: false });
  const commits = (drift?.commits_by_others ?? []).slice(0, 5);
  if (commits.length === 0) return "somebody who moved or switched the branch";
  const runs = await runsThatCommitted(deps, run, commits);
  return commits
    .map(
      (commit) =>
        `${runs.has(commit.sha) ? `run ${runs.get(commit.sha) ?? ""}, committed as ` : ""}${oneLine(commit.author, 40)} (${commit.sha.slice(0, 10)} "${oneLine(commit.subject, 60)}")`,
    )
    .join(", ");
}

/** Other runs on the same working tree that made some of these commits. */
async function runsThatCommitted(
  deps: Deps,
  run: RunRecord,
  commits: readonly { readonly sha: string }[],
): Promise<ReadonlyMap<string, string>> {
  const others = await deps.store.runsOfRepository({
    owner: run.owner,
    common_dir: run.repo_common_dir,
    remote: run.repo_remote,
    limit: LISTED,
  });
  const makers = new Map<string, string>();
  for (const other of others) {
    if (other.run_id === run.run_id || other.workspace_path !== run.workspace_path) continue;
    const acts = await deps.store.acts(other.run_id, 500);
    const own = new Set(acts.flatMap((act) => (act.kind === "commit" && act.ref !== null ? [act.ref] : [])));
    for (const { sha } of commits) if (own.has(sha)) makers.set(sha, other.run_id);
  }
  return makers;
}

/** What no checkpoint holds, so that nothing of it can be brought back. */
async function uncovered(deps: Deps, run: RunRecord, { plan, target }: RunRestore): Promise<string[]> {
  const [newest] = await deps.store.checkpoints(run.run_id, 1);
  const skipped = new Map([...target.skipped, ...(newest?.skipped ?? [])].map((item) => [item.path, item] as const));
  for (const path of plan.uncovered) if (!skipped.has(path)) skipped.set(path, { path, bytes: 0, why: "nested_repository" });
  const lines = [...skipped.values()].map(
    (item) => `Whatever changed in ${oneLine(item.path, 100)} stays: ${whyNotCovered(item)}; no checkpoint covers it.`,
  );
  return lines.length <= LISTED
    ? lines
    : [...lines.slice(0, LISTED), `… and ${lines.length - LISTED} more paths that no checkpoint covers`];
}

function listed(verb: string, paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const shown = paths.slice(0, LISTED).map((path) => oneLine(path, 100));
  return [`${verb} ${shown.join(", ")}${paths.length > LISTED ? ` and ${paths.length - LISTED} more` : ""}`];
}
