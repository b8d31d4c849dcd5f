import { msOf, now } from "../run/clock.ts";
import type { RunRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import { oneLine } from "./headline.ts";
import { HEAD_CONFLICT, type RunRestore } from "./restore.ts";

/** What a destructive action does, told before it is done. */
export interface Consequences {
  happens: string[];
  undoes: string[];
  cannot_undo: string[];
  conflicts: { path: string; changed_by: string }[];
}

const LISTED = 20;

export async function resetConsequences(
  deps: { readonly store: Pick<Store, "acts" | "runsOfRepository"> },
  run: RunRecord,
  restore: RunRestore,
  wish: { readonly to_start: boolean; readonly restart: boolean; readonly overwrite: readonly string[] },
): Promise<Consequences> {
  const { plan, target } = restore;
  const acts = await deps.store.acts(run.run_id, 500);
  const lasting = acts.filter((act) => act.kind !== "commit" && act.kind !== "branch");
  const commits = acts.filter((act) => act.kind === "commit");
  return {
    happens: [
      await whichRun(deps, run),
      `Its files go back to ${wish.to_start ? "the state before the run began" : `checkpoint ${target.id} (${target.kind}, iteration ${target.iteration}, ${target.at})`}: ${plan.restore.length} restored, ${plan.remove.length} removed.`,
      ...(plan.head === null ? [] : [`${run.branch ?? "HEAD"} goes back to ${plan.head.to?.slice(0, 12) ?? "no commit"}.`]),
      "Everything that is removed is kept in a safety checkpoint first; resetting to it brings all of it back.",
      ...(wish.overwrite.length > 0
        ? [`Overwritten although others changed them: ${wish.overwrite.slice(0, LISTED).join(", ")}.`]
        : []),
      ...(plan.uncovered.length > 0
        ? [`Not covered by the checkpoint and left alone: ${plan.uncovered.slice(0, LISTED).join(", ")}.`]
        : []),
      wish.restart
        ? "A new run with the same settings is started."
        : wish.to_start
          ? "The run stays stopped and cannot be resumed until it is reset to its safety checkpoint."
          : "The run stays resumable, by hand-off: its engine's conversation is not continued.",
    ],
    undoes: [
      ...listed("restores", plan.restore),
      ...listed("removes", plan.remove),
      ...(plan.head === null
        ? []
        : commits
            .slice(-LISTED)
            .map(
              (act) =>
                `commit ${act.ref?.slice(0, 12) ?? ""} "${oneLine(act.what, 80)}" leaves the branch (kept under a hidden ref)`,
            )),
    ],
    cannot_undo: lasting
      .slice(-LISTED)
      .map(
        (act) =>
          `${act.kind}: ${oneLine(act.what, 120)}${act.ref === null ? "" : ` (${act.ref})`}${act.status === "unobserved" ? ", its outcome was never seen" : ""}`,
      ),
    conflicts: plan.conflicts.slice(0, LISTED).map((path) => ({
      path,
      changed_by: path === HEAD_CONFLICT ? "somebody who committed or switched the branch" : "somebody else since",
    })),
  };
}

/** Names the run so that nobody resets the wrong one. */
async function whichRun(deps: { readonly store: Pick<Store, "runsOfRepository"> }, run: RunRecord): Promise<string> {
  const hours = (msOf(now()) - msOf(run.created_at)) / 3_600_000;
  const age = hours < 1 ? `${Math.round(hours * 60)} min` : `${hours.toFixed(1)} h`;
  const runs = await deps.store.runsOfRepository({
    owner: run.owner,
    common_dir: run.repo_common_dir,
    remote: run.repo_remote,
    limit: 10,
  });
  const newer = runs.find((other) => other.run_id !== run.run_id && other.created_at > run.created_at);
  return `Run ${run.run_id} ("${oneLine(run.objective, 120)}") on ${run.repo_path}, branch ${run.branch ?? "none"}, started ${age} ago, is reset.${newer === undefined ? "" : ` A newer run on this repository is ${newer.run_id} ("${oneLine(newer.objective, 60)}", ${newer.state}).`}`;
}

function listed(verb: string, paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const shown = paths.slice(0, LISTED).map((path) => oneLine(path, 100));
  return [`${verb} ${shown.join(", ")}${paths.length > LISTED ? ` and ${paths.length - LISTED} more` : ""}`];
}
