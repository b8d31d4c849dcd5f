import type { Captured, Checkpoints } from "../../src/checkpoint/checkpoint.ts";
import { bytesOfPath } from "../../src/checkpoint/path-text.ts";
import { absorbChanges, commitsOf, observeActs } from "../../src/loop/effects.ts";
import { checkpointRecord } from "../../src/resume/checkpoint-record.ts";
import { loadOwned } from "../../src/resume/ownership.ts";
import { applyRunRestore, planRunRestore, type RunRestore } from "../../src/resume/restore.ts";
import { newCheckpointId } from "../../src/run/id.ts";
import type { CheckpointKind, CheckpointRecord, RunRecord, WorkspaceKind } from "../../src/run/run.ts";
import type { Store } from "../../src/store/store.ts";
import { AT, aNewRun, anAttempt, anEvent, anIteration } from "../support/records.ts";
import type { Seen, SharedTree } from "./shared-tree.ts";

/** A run as the loop drives it - checkpoints, iterations, ownership, acts - whose engine is a random hand. */
export class RunActor {
  readonly #deps: { readonly store: Store; readonly checkpoints: Checkpoints };
  readonly #tree: SharedTree;
  run: RunRecord;
  /** Checkpoints that a reset can go back to, oldest first, with how things were. */
  readonly targets: { readonly record: CheckpointRecord; readonly seen: Seen; readonly spans: number }[] = [];
  /** What happened by this run's hand, oldest first: its iterations and resets. */
  readonly spans: { readonly start: Seen; readonly end: Seen; readonly by_others: ReadonlySet<string> }[] = [];
  #attempt = 0;
  #iteration = 0;
  #last: Captured | null = null;

  constructor(deps: { readonly store: Store; readonly checkpoints: Checkpoints }, tree: SharedTree, run: RunRecord) {
    this.#deps = deps;
    this.#tree = tree;
    this.run = run;
  }

  static async start(
    deps: { readonly store: Store; readonly checkpoints: Checkpoints },
    tree: SharedTree,
    kind: WorkspaceKind,
  ): Promise<RunActor> {
    const repo = await deps.checkpoints.discover(tree.top);
    const created = aNewRun({
      repo_path: tree.top,
      repo_common_dir: repo.common_dir,
      repo_remote: null,
      workspace_kind: kind,
      workspace_path: tree.top,
      state: "stopped",
      stop_reason: "max_iterations",
    });
    const run = await deps.store.createRun({ ...created, attempts: [], tree_hold: `${tree.top}#${created.run.run_id}` });
    return new RunActor(deps, tree, run);
  }

  /** Opens an attempt: what others did before it is theirs. */
  async open(): Promise<void> {
    this.#attempt += 1;
    const { captured } = await this.#capture("entry");
    await this.#deps.store.apply({
      run_id: this.run.run_id,
      at: AT,
      bump_revision: false,
      events: [anEvent()],
      open_attempts: [
        anAttempt({ attempt: this.#attempt, entry_checkpoint: captured.id, opened_at: String(this.#attempt).padStart(4, "0") }),
      ],
    });
    this.#last = captured;
  }

  /** `work` plays the turn; it tells the paths that tool calls name and those that others changed meanwhile. */
  async iterate(work: () => { readonly named: readonly string[]; readonly by_others: ReadonlySet<string> }): Promise<void> {
    const last = this.#last;
    if (last === null) throw new Error("the attempt was not opened");
    const repo = await this.#deps.checkpoints.discover(this.#tree.top);
    const owner = { ctx: this.#deps, run: this.run, repo };
    const mark = await this.#deps.checkpoints.actMark(repo);
    const start = this.#tree.look();
    const { named, by_others } = work();
    this.spans.push({ start, end: this.#tree.look(), by_others });
    const calls = named.map((path) => ({
      command: null,
      paths: [bytesOfPath(path).toString("utf8")],
      status: "completed" as const,
      held: false,
    }));
    this.#iteration += 1;
    const acts = await observeActs(owner, { mark, iteration: this.#iteration, at: AT, calls });
    const { captured } = await this.#capture("iteration");
    await absorbChanges(owner, {
      owned: await loadOwned(this.#deps.store, this.run.run_id),
      from: last,
      to: captured,
      calls,
      commits: commitsOf(acts),
    });
    await this.#deps.store.apply({
      run_id: this.run.run_id,
      at: AT,
      bump_revision: false,
      events: [anEvent()],
      acts,
      iterations: [
        anIteration(this.#iteration, {
          finished: true,
          checkpoint_start: last.id,
          checkpoint_end: captured.id,
          attempt: this.#attempt,
        }),
      ],
    });
    this.#last = captured;
  }

  plan(target: CheckpointRecord, overwrite: readonly string[] = []): Promise<RunRestore> {
    return planRunRestore(this.#deps, this.run, target, overwrite);
  }

  /** Applies a plan as run_reset does; gives the record of its safety checkpoint. */
  async apply(restore: RunRestore): Promise<CheckpointRecord> {
    const start = this.#tree.look();
    const result = await applyRunRestore(this.#deps, this.run, restore, {});
    this.spans.push({ start, end: this.#tree.look(), by_others: new Set() });
    await this.#capture("reset");
    const safety = await this.#deps.store.checkpoint(this.run.run_id, result.safety.id);
    if (safety === null) throw new Error("the safety checkpoint was not recorded");
    if (result.changed_meanwhile.length > 0) throw new Error(`changed meanwhile: ${result.changed_meanwhile.join(", ")}`);
    return safety;
  }

  async #capture(kind: CheckpointKind): Promise<{ readonly captured: Captured }> {
    const repo = await this.#deps.checkpoints.discover(this.#tree.top);
    const captured = await this.#deps.checkpoints.capture(repo, { run_id: this.run.run_id, id: newCheckpointId(), kind });
    const record = checkpointRecord(captured, { kind, iteration: this.#iteration, step: "main", attempt: this.#attempt, at: AT });
    await this.#deps.store.apply({
      run_id: this.run.run_id,
      at: AT,
      bump_revision: false,
      events: [anEvent()],
      checkpoints: [record],
    });
    if (kind !== "reset") this.targets.push({ record, seen: this.#tree.look(), spans: this.spans.length });
    return { captured };
  }
}
