/** Addresses of the event streams. */
export const RUN_STREAM = "/api/runs/{run_id}/events";
export const RUNS_STREAM = "/api/events";
