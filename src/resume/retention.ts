import { bytesText } from "../run/bytes.ts";
import { isoOf, msOf } from "../run/clock.ts";
import { LoopkeeperError, messageOf } from "../run/errors.ts";
import type { RetentionPolicy } from "../run/retention.ts";
import { isOfHost, type RunRecord } from "../run/run.ts";
import { freeByPolicy, type PutAwayContext, putAway } from "./put-away.ts";
import { reclaimOutlook } from "./reclaim-outlook.ts";
import { type Due, dueByAge, HANDLED, latestDueMs, spared } from "./retention-due.ts";
import { freeable, type RunSize, sizeOf } from "./run-size.ts";

/**
 * A retention policy, carried out: what is due by age, then, oldest first, what makes room. Each run is judged and freed by the
 * very rule of `run_archive`; of what exists nowhere else nothing is freed, and the run is left in the lists.
 */

export interface RetentionContext extends Omit<PutAwayContext, "owner"> {
  log(level: "info" | "warn", message: string, data?: Readonly<Record<string, unknown>>): void;
}

export interface RetentionWish {
  readonly policy: RetentionPolicy;
  /** False: nothing is changed, and the rows tell what would be. */
  readonly apply: boolean;
  /** Rows of runs that nothing is to be done with, and the sizes of all: for people who ask. */
  readonly all: boolean;
}

export interface RetentionRow {
  readonly run: RunRecord;
  readonly what: Due["what"];
  readonly why: string;
  /** It was done, or would be. False: something keeps it (`kept`), or nothing is due. */
  readonly done: boolean;
  readonly freed: readonly string[];
  readonly kept: readonly string[];
  readonly freed_bytes: number;
  readonly size: RunSize | null;
}

export interface RetentionResult {
  readonly rows: readonly RetentionRow[];
  /** Bytes of the files of all finished runs after this; null when they were not measured. */
  readonly total_bytes: number | null;
}

const PAGE = 200;
const GB = 2 ** 30;
/** A run of which something was kept is not looked at again before, unless its tree or the refs moved. */
const AGAIN_MS = 24 * 3_600_000;
/** Equal to no standing. */
const PASSING = "passing";

export async function carryOut(ctx: RetentionContext, wish: RetentionWish): Promise<RetentionResult> {
  const pass = new Pass(ctx, wish, msOf(await ctx.store.clock()));
  return pass.run();
}

class Pass {
  readonly #ctx: RetentionContext;
  readonly #wish: RetentionWish;
  readonly #nowMs: number;
  readonly #rows: RetentionRow[] = [];

  constructor(ctx: RetentionContext, wish: RetentionWish, nowMs: number) {
    this.#ctx = ctx;
    this.#wish = wish;
    this.#nowMs = nowMs;
  }

  async run(): Promise<RetentionResult> {
    const { policy, all } = this.#wish;
    const measured = all || policy.max_total_gb !== null;
    const left: { readonly run: RunRecord; readonly due: Due; readonly size: RunSize }[] = [];
    let total = 0;
    for await (const run of this.#held(measured)) {
      const due = await this.#due(run);
      const size = measured ? await sizeOf(this.#ctx, run) : null;
      if (due.what !== "nothing") {
        const row = await this.#act(run, due, size);
        if (size !== null) total += Math.max(0, freeable(size) - row.freed_bytes);
      } else if (size !== null) {
        left.push({ run, due, size });
        total += freeable(size);
      }
    }
    for (const { run, due, size } of left) {
      const room = this.#room(run, total);
      if (room !== null) total -= (await this.#act(run, { what: "reclaim", why: room }, size)).freed_bytes;
      else if (all) this.#rows.push({ ...NOTHING, run, size, what: "nothing", why: due.why });
    }
    return { rows: this.#rows, total_bytes: measured ? total : null };
  }

  /** Finished runs of this host that are due by age, or all of them; the longest stopped first. */
  async *#held(all: boolean): AsyncGenerator<RunRecord> {
    const dueMs = latestDueMs(this.#wish.policy, this.#nowMs);
    if (!all && dueMs === null) return;
    const stopped_before = all || dueMs === null ? null : isoOf(dueMs);
    let after: { readonly stopped_at: string; readonly run_id: string } | null = null;
    for (;;) {
      const page: readonly RunRecord[] = await this.#ctx.store.retention.held({ stopped_before, after, limit: PAGE });
      for (const run of page) {
        if (this.#ctx.caller.signal.aborted) return;
        if (isOfHost(run, this.#ctx.host)) yield run;
      }
      const last = page.at(-1);
      if (last?.stopped_at == null || page.length < PAGE) return;
      after = { stopped_at: last.stopped_at, run_id: last.run_id };
    }
  }

  async #due(run: RunRecord, policy = this.#wish.policy): Promise<Due> {
    const stopped = run.stopped_at ?? run.changed_at;
    const byStop = dueByAge(run, stopped, policy, this.#nowMs);
    if (byStop.what === "nothing") return byStop;
    const [last] = await this.#ctx.store.events(run.run_id, { types: HANDLED, limit: 1 });
    return last === undefined || last.at <= stopped ? byStop : dueByAge(run, last.at, policy, this.#nowMs);
  }

  /** By which words a run is freed to make room; null when there is room, or it is spared. */
  #room(run: RunRecord, total: number): string | null {
    const cap = this.#wish.policy.max_total_gb;
    if (cap === null || total <= cap * GB || spared(run) !== null) return null;
    return `max_total_gb ${cap}: the files of finished runs take ${bytesText(total)}, and no older one can go`;
  }

  async #act(run: RunRecord, due: Due, size: RunSize | null): Promise<RetentionRow> {
    const row = await this.#done(run, due, size).catch((error: unknown) => {
      // Somebody else is at it, or its repository is in trouble: it is not this pass that has to solve that.
      const known = error instanceof LoopkeeperError;
      this.#ctx.log(known ? "info" : "warn", "retention left a run alone", { run_id: run.run_id, error: messageOf(error) });
      return { ...NOTHING, kept: [known ? error.message : "it could not be looked at"] };
    });
    const full = { run, what: due.what, why: due.why, size, ...row };
    this.#rows.push(full);
    return full;
  }

  async #done(run: RunRecord, due: Due, size: RunSize | null): Promise<typeof NOTHING> {
    const { apply, policy } = this.#wish;
    const ctx = { ...this.#ctx, owner: run.owner };
    if (due.what === "archive") {
      if (apply) await putAway(ctx, run, { archived: true, reclaim: false, by: "policy", why: due.why });
      return { ...NOTHING, done: true };
    }
    const { kept, done, freed, freed_bytes } = apply
      ? await this.#free(run, due, size)
      : await reclaimOutlook(this.#ctx, run, size);
    if (!done) {
      // What stays where it is may be old enough to leave the lists all the same.
      const age = await this.#due(run, { ...policy, reclaim_after_days: null });
      if (age.what === "archive") await this.#act(run, age, size);
    }
    return { kept, done, freed, freed_bytes };
  }

  async #free(run: RunRecord, due: Due, size: RunSize | null): Promise<typeof NOTHING> {
    const { retention } = this.#ctx.store;
    const standing = await this.#standing(run);
    const before = await retention.lastTry(run.run_id);
    const again = before === null || before.standing !== standing || msOf(before.at) + AGAIN_MS <= this.#nowMs;
    if (!again) return { ...NOTHING, kept: before.kept };
    const ctx = { ...this.#ctx, owner: run.owner };
    const result = await freeByPolicy(ctx, run, due.why, async ({ kept, passing }) => {
      // Read again: another process may have been here before this one got hold of the run.
      const last = await retention.lastTry(run.run_id);
      const bytes = size === null ? 0 : freeable(size);
      // What passes by itself is looked at again at the next pass.
      await retention.noteTry(run.run_id, { at: isoOf(this.#nowMs), kept, bytes, standing: passing ? PASSING : standing });
      // The same reasons again are no news: an event for each day would bury the others.
      return !passing && last?.kept.join("\n") !== kept.join("\n");
    });
    if (result.done) await retention.noteTry(run.run_id, null);
    return result;
  }

  /** Empty where it cannot be looked at: then it is looked at again once a day. */
  async #standing(run: RunRecord): Promise<string> {
    const { checkpoints } = this.#ctx;
    try {
      const repo = await checkpoints.discover(run.repo_path);
      return await checkpoints.standing(repo, run.workspace_kind === "worktree" ? run.workspace_path : null);
    } catch {
      return "";
    }
  }
}

const NOTHING: Pick<RetentionRow, "done" | "freed" | "kept" | "freed_bytes"> = {
  done: false,
  freed: [],
  kept: [],
  freed_bytes: 0,
};
