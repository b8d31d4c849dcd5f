import type { Checkpoints } from "./checkpoint/checkpoint.ts";
import type { CrashPoints, Quiet } from "./crash-points.ts";
import type { Engine, EngineStart, Engines } from "./engine/engine.ts";
import type { Store } from "./store/store.ts";

/** Which methods of the parts are durable effects. What is not named here counts as one, so that a new one is watched. */

const STORE: Quiet = {
  methods: new Set([
    ...["close", "secret", "findRequest", "run", "runsByPrefix", "runs", "runsOfRepository", "holderOf", "steps", "attempts"],
    ...["iterations", "acts", "grants", "checkpoints", "checkpoint", "lastVerify", "instructions", "events", "journal", "replay"],
    ...["artifact", "runArtifacts", "workers", "leases", "liveRuns", "clock", "stamp", "changedRuns"],
    // Timers decide when these come.
    ...["beatWorker", "renewLease", "appendJournal"],
  ]),
  polled: new Set(["claimQueued", "takeOver", "leaseIdle"]),
};

const CHECKPOINTS: Quiet = {
  methods: new Set([
    ...["discover", "normaliseRemote", "resolve", "dirtyFiles", "mirrorRemotes", "worktreeState", "isPresent", "diffSummary"],
    ...["patch", "changedPaths", "contentAt", "actMark", "observeActs", "drift", "planRestore", "withoutIgnored", "locksLeft"],
  ]),
  polled: new Set(),
};

const ENGINES: Quiet = { methods: new Set(["start", "processIdentity", "isAlive", "hasSession"]), polled: new Set() };
const ENGINE: Quiet = { methods: new Set(["canReport"]), polled: new Set() };

interface Watched {
  readonly store: Store;
  readonly checkpoints: Checkpoints;
  readonly engines: Engines;
}

export function watched(parts: Watched, points: CrashPoints): Watched {
  const engines = points.wrap(parts.engines, ENGINES);
  return {
    store: points.wrap(parts.store, STORE),
    checkpoints: points.wrap(parts.checkpoints, CHECKPOINTS),
    engines: new Proxy(engines, {
      get: (target, property) => (property === "start" ? startWatched(parts.engines, points) : Reflect.get(target, property)),
    }),
  };
}

function startWatched(engines: Engines, points: CrashPoints): Engines["start"] {
  return async (launch, session): Promise<EngineStart> => {
    const started = await engines.start(launch, session);
    points.done("engine");
    if (!started.ok) return started;
    return { ok: true, engine: points.wrap<Engine>(started.engine, ENGINE) };
  };
}
