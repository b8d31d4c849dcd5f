import { now } from "../run/clock.ts";
import { isOfHost, type RunRecord } from "../run/run.ts";
import type { Backend, Trx } from "./backend.ts";
import { readRows } from "./json.ts";
import { LIVE, selectRuns, toReadableRuns, toRun } from "./read-run.ts";
import { leaseSchema } from "./rows.ts";
import type { LeaseRecord, ProcessIdentity } from "./store.ts";

/**
 * Who drives a run. The lease row's primary key is what makes two drivers impossible; the fence on the run's head is what makes a
 * driver that lost its lease unable to write. Locks are always taken in the order run, head, lease.
 */

export interface Claim {
  readonly run: RunRecord;
  readonly fence: number;
}

export async function claimQueued(
  backend: Backend,
  workerId: string,
  identity: ProcessIdentity,
  onError: (error: unknown) => void,
): Promise<Claim | null> {
  const passed: string[] = [];
  for (;;) {
    const result = await backend.write((trx) => claimOldest(backend, trx, workerId, identity, passed, onError));
    if (result.claim !== null || result.run_id === null) return result.claim;
    passed.push(result.run_id);
  }
}

interface ClaimTry {
  /** The run that was looked at; null when the queue holds no other one. */
  readonly run_id: string | null;
  readonly claim: Claim | null;
}

async function claimOldest(
  backend: Backend,
  trx: Trx,
  workerId: string,
  identity: ProcessIdentity,
  passed: readonly string[],
  onError: (error: unknown) => void,
): Promise<ClaimTry> {
  const row = await oldestQueued(backend, trx, passed);
  if (row === undefined) return { run_id: null, claim: null };
  // A damaged run must not keep the others from being claimed.
  const [run] = toReadableRuns([row], onError);
  const fence = run === undefined || !isOfHost(run, identity.host) ? null : await takeLease(trx, row.run_id, workerId, identity);
  if (run === undefined || fence === null) return { run_id: row.run_id, claim: null };
  return { run_id: row.run_id, claim: { run: { ...run, fence }, fence } };
}

async function oldestQueued(backend: Backend, trx: Trx, passed: readonly string[]) {
  const at = await backend.clock(trx);
  let query = selectRuns(trx)
    .where(LIVE)
    .where("state", "=", "queued")
    .where((of) => of.or([of("waiting_until", "is", null), of("waiting_until", "<=", at)]))
    .where((of) => of.not(of.exists(of.selectFrom("leases").select("fence").whereRef("leases.run_id", "=", "runs.run_id"))))
    .orderBy("position")
    .limit(1);
  if (passed.length > 0) query = query.where("runs.run_id", "not in", [...passed]);
  return (backend.kind === "postgres" ? query.forUpdate().skipLocked() : query).executeTakeFirst();
}

/** Raises the fence and makes the lease; null when somebody's lease is there already. */
async function takeLease(trx: Trx, runId: string, workerId: string, identity: ProcessIdentity): Promise<number | null> {
  const head = await trx.selectFrom("run_heads").select("fence").where("run_id", "=", runId).executeTakeFirstOrThrow();
  const fence = head.fence + 1;
  const taken = await trx
    .insertInto("leases")
    .values({ run_id: runId, fence, worker_id: workerId, identity: JSON.stringify(identity), beat: 0 })
    .onConflict((conflict) => conflict.column("run_id").doNothing())
    .executeTakeFirst();
  if (taken.numInsertedOrUpdatedRows !== 1n) return null;
  await trx.updateTable("run_heads").set({ fence }).where("run_id", "=", runId).execute();
  return fence;
}

export async function takeOver(
  backend: Backend,
  seen: LeaseRecord,
  workerId: string,
  identity: ProcessIdentity,
): Promise<Claim | null> {
  return backend.write(async (trx) => {
    const row = await lockedRun(backend, trx, seen.run_id);
    if (row === undefined) return null;
    const run = toRun(row);
    const fence = row.fence + 1;
    const taken = await trx
      .updateTable("leases")
      .set({ fence, worker_id: workerId, identity: JSON.stringify(identity), beat: 0 })
      .where("run_id", "=", seen.run_id)
      .where("fence", "=", seen.fence)
      .where("worker_id", "=", seen.worker_id)
      .where("beat", "=", seen.beat)
      .executeTakeFirst();
    if (taken.numUpdatedRows !== 1n) return null;
    await trx.updateTable("run_heads").set({ fence }).where("run_id", "=", seen.run_id).execute();
    return { run: { ...run, fence }, fence };
  });
}

export async function leaseIdle(
  backend: Backend,
  runId: string,
  workerId: string,
  identity: ProcessIdentity,
): Promise<{ readonly fence: number } | null> {
  return backend.write(async (trx) => {
    const row = await lockedRun(backend, trx, runId);
    if (row === undefined || row.state === "queued") return null;
    const fence = await takeLease(trx, runId, workerId, identity);
    return fence === null ? null : { fence };
  });
}

function lockedRun(backend: Backend, trx: Trx, runId: string) {
  const query = selectRuns(trx).where("runs.run_id", "=", runId);
  return (backend.kind === "postgres" ? query.forUpdate() : query).executeTakeFirst();
}

export async function renewLease(backend: Backend, runId: string, fence: number): Promise<boolean> {
  return backend.write(async (trx) => {
    const head = await trx
      .updateTable("run_heads")
      .set({ alive_at: now() })
      .where("run_id", "=", runId)
      .where("fence", "=", fence)
      .where((of) =>
        of.exists(
          of
            .selectFrom("leases")
            .select("beat")
            .whereRef("leases.run_id", "=", "run_heads.run_id")
            .where("leases.fence", "=", fence),
        ),
      )
      .executeTakeFirst();
    if (head.numUpdatedRows !== 1n) return false;
    const lease = await trx
      .updateTable("leases")
      .set((of) => ({ beat: of("beat", "+", 1) }))
      .where("run_id", "=", runId)
      .where("fence", "=", fence)
      .executeTakeFirst();
    return lease.numUpdatedRows === 1n;
  });
}

export async function releaseLease({ db }: Backend, runId: string, fence: number): Promise<void> {
  await db.deleteFrom("leases").where("run_id", "=", runId).where("fence", "=", fence).execute();
}

export async function readLeases({ db }: Backend): Promise<LeaseRecord[]> {
  return readRows(leaseSchema, "leases", await db.selectFrom("leases").selectAll().orderBy("run_id").execute());
}

/** Live runs without a lease, and runs of any state that wait for a time. */
export async function readLiveRuns({ db }: Backend, onError: (error: unknown) => void): Promise<RunRecord[]> {
  const leaseless = await selectRuns(db)
    .where(LIVE)
    .where((of) => of.not(of.exists(of.selectFrom("leases").select("fence").whereRef("leases.run_id", "=", "runs.run_id"))))
    .orderBy("position")
    .execute();
  const waiting = await selectRuns(db)
    .where("waiting_until", "is not", null)
    .where("archived_at", "is", null)
    .where((of) => of.not(of.exists(of.selectFrom("leases").select("fence").whereRef("leases.run_id", "=", "runs.run_id"))))
    .orderBy("position")
    .execute();
  const all = new Map([...leaseless, ...waiting].map((row) => [row.run_id, row]));
  return toReadableRuns([...all.values()], onError);
}
