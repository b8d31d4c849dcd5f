import { applyChange, createRun } from "./apply.ts";
import { putArtifact, readArtifact, readRunArtifacts, setRunArtifacts } from "./artifacts.ts";
import type { Backend } from "./backend.ts";
import { findChangedRuns } from "./changed-runs.ts";
import { copiesOver } from "./copies.ts";
import { appendJournal } from "./journal-append.ts";
import { checkJournal } from "./journal-check.ts";
import { readJournalIndex } from "./journal-index.ts";
import { readJournal } from "./journal-read.ts";
import { claimQueued, leaseIdle, readLeases, readLiveRuns, releaseLease, renewLease, takeOver } from "./leases.ts";
import { listRuns } from "./list.ts";
import { readFacets, readSides } from "./list-sides.ts";
import { migrate } from "./migrate.ts";
import { findByPrefix, findOfRepository, findOwnRun } from "./read-run.ts";
import {
  readActs,
  readAttempts,
  readCheckpoint,
  readCheckpoints,
  readEvents,
  readGrants,
  readInstructions,
  readIterations,
  readSteps,
  readVerify,
} from "./reads.ts";
import { redactedWrite } from "./redact-writes.ts";
import { replayRun } from "./replay.ts";
import { findRequest, updateRequestAnswer } from "./requests.ts";
import { beginPass, noteTry, readHeld, readLastPass, readRunBytes, readTry } from "./retention.ts";
import { createSeal } from "./seal.ts";
import { openSqlite } from "./sqlite.ts";
import type { Copies, Store } from "./store.ts";
import { findHolder } from "./tree-hold.ts";
import { beatWorker, readWorkers, registerWorker, removeWorker, storeSecret } from "./workers.ts";

export interface OpenOptions {
  /** `postgres://...`, or null for the SQLite file at `path`. */
  readonly url: string | null;
  /** The store file; it and its folder are made when missing. Not looked at when `url` is given. */
  readonly path: string;
  /** LOOPKEEPER_KEY: 32 bytes that seal portable copies, or null. */
  readonly key?: Uint8Array | null;
  /** Told of what no call can answer for: a lost idle connection, a damaged row that a list leaves out. */
  readonly onError?: (error: unknown) => void;
}

/** Opens the store and brings its schema to this version. Throws `store_unavailable` with what to do about it. */
export async function openStore(options: OpenOptions): Promise<Store> {
  const onError = options.onError ?? (() => {});
  const backend = await openBackend(options, onError);
  try {
    await migrate(backend);
  } catch (error) {
    await backend.close();
    throw backend.explain(error);
  }
  return storeOver(backend, copiesOver(backend, options.key == null ? null : createSeal(options.key)), onError);
}

async function openBackend({ url, path }: OpenOptions, onError: (error: unknown) => void): Promise<Backend> {
  if (url === null) return openSqlite(path);
  const { openPostgres } = await import("./postgres.ts");
  return openPostgres(url, onError);
}

function storeOver(backend: Backend, copies: Copies, onError: (error: unknown) => void): Store {
  /** No driver's own error text leaves the store: it can hold what was being written. */
  async function call<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw backend.explain(error);
    }
  }
  return {
    kind: backend.kind,
    close: () => call(backend.close()),
    secret: () => call(storeSecret(backend)),
    clock: () => call(backend.clock(backend.db)),

    stamp: () => call(backend.stamp()),

    createRun: (run) => call(createRun(backend, redactedWrite(run))),
    apply: (change) => call(applyChange(backend, redactedWrite(change))),
    appendJournal: (input) => call(appendJournal(backend, redactedWrite(input))),
    findRequest: (owner, requestId) => call(findRequest(backend, owner, requestId)),
    updateRequestAnswer: (owner, requestId, answer) =>
      call(updateRequestAnswer(backend, owner, requestId, redactedWrite({ answer }).answer)),

    run: (runId, owner) => call(findOwnRun(backend, runId, owner)),
    runsByPrefix: (prefix, owner, limit) => call(findByPrefix(backend, prefix, owner, limit)),
    runs: (filter) => call(listRuns(backend, filter, onError)),
    runSides: (runIds) => call(readSides(backend, runIds)),
    facets: (query) => call(readFacets(backend, query)),
    changedRuns: (query) => call(findChangedRuns(backend, query, onError)),
    runsOfRepository: (query) => call(findOfRepository(backend, query)),
    holderOf: (treePath) => call(findHolder(backend, treePath)),

    steps: (runId) => call(readSteps(backend, runId)),
    attempts: (runId) => call(readAttempts(backend, runId)),
    iterations: (runId, limit) => call(readIterations(backend, runId, limit)),
    acts: (runId, limit) => call(readActs(backend, runId, limit)),
    grants: (runId) => call(readGrants(backend, runId)),
    checkpoints: (runId, limit) => call(readCheckpoints(backend, runId, limit)),
    checkpoint: (runId, checkpointId) => call(readCheckpoint(backend, runId, checkpointId)),
    lastVerify: (runId) => call(readVerify(backend, runId)),
    instructions: (runId, which) => call(readInstructions(backend, runId, which)),
    events: (runId, query) => call(readEvents(backend, runId, query)),
    replay: (runId) => call(replayRun(backend, runId)),
    journal: (runId, query) => call(readJournal(backend, runId, query)),
    journalIndex: (runId) => call(readJournalIndex(backend, runId)),
    journalHealth: (runId) => call(checkJournal(backend, runId)),

    copies: {
      refused: copies.refused,
      sealed: copies.sealed,
      putPart: (bytes, known) => call(copies.putPart(bytes, known)),
      part: (id) => call(copies.part(id)),
      set: (copy) => call(copies.set(copy)),
      get: (runId, name) => call(copies.get(runId, name)),
    },
    putArtifact: (bytes) => call(putArtifact(backend, bytes)),
    artifact: (id) => call(readArtifact(backend, id)),
    setRunArtifacts: async (runId, name, meta, ids) => {
      await call(setRunArtifacts(backend, runId, name, meta, ids));
    },
    runArtifacts: (runId, name) => call(readRunArtifacts(backend, runId, name)),

    runBytes: (runId) => call(readRunBytes(backend, runId)),
    retention: {
      held: (query) => call(readHeld(backend, query, onError)),
      lastTry: (runId) => call(readTry(backend, runId)),
      noteTry: (runId, tried) => call(noteTry(backend, runId, redactedWrite(tried))),
      lastPass: (host) => call(readLastPass(backend, host)),
      beginPass: (host, everyMs) => call(beginPass(backend, host, everyMs)),
    },

    registerWorker: (worker) => call(registerWorker(backend, worker)),
    beatWorker: (workerId) => call(beatWorker(backend, workerId)),
    removeWorker: (workerId) => call(removeWorker(backend, workerId)),
    workers: () => call(readWorkers(backend)),

    claimQueued: (workerId, identity) => call(claimQueued(backend, workerId, identity, onError)),
    takeOver: (seen, workerId, identity) => call(takeOver(backend, seen, workerId, identity)),
    leaseIdle: (runId, workerId, identity) => call(leaseIdle(backend, runId, workerId, identity)),
    renewLease: (runId, fence) => call(renewLease(backend, runId, fence)),
    releaseLease: (runId, fence) => call(releaseLease(backend, runId, fence)),
    leases: () => call(readLeases(backend)),
    liveRuns: () => call(readLiveRuns(backend, onError)),
  };
}
