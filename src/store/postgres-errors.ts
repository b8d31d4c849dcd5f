import { LeaseLostError, LoopkeeperError, systemCode } from "../run/errors.ts";

/** Classes and codes of SQLSTATE that mean the database, not a call of ours. The longest prefix counts. */
const POSTGRES_PROBLEMS = {
  "08": "the connection to it was lost. Call again",
  "28": "it refused the login. Check user and password in LOOPKEEPER_DATABASE_URL",
  "3D": "the database does not exist. Create it, or name another one in LOOPKEEPER_DATABASE_URL",
  "42501": "its user may not do this. Grant it the right to create and use tables in its schema",
  "42P07": "it holds another program's tables under the same names. Name another database in LOOPKEEPER_DATABASE_URL",
  "42P01": "a table of the store is gone. Restore a copy of the database",
  "42703": "a table of the store is not as Loopkeeper made it. Restore a copy of the database, or name another one",
  "53100": "its disk is full. Free disk space, then call again",
  "53": "it is out of resources (connections, memory or disk). Call again later",
  "57": "it is shutting down or starting. Call again",
  "58": "it reported a system error. Look at its log",
  XX: "it reported damage. Look at its log",
  "25006": "it is read-only here (a standby). Name the primary in LOOPKEEPER_DATABASE_URL",
} as const;

const NETWORK_CODES: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EPIPE",
  "ENOENT",
  "EACCES",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

export function explainPostgres(error: unknown): unknown {
  if (error instanceof LoopkeeperError || error instanceof LeaseLostError) return error;
  const code = systemCode(error);
  if (code === null) return isConnectionLoss(error) ? unavailable("the connection to it was lost. Call again", error) : error;
  if (NETWORK_CODES.has(code)) return unavailable("it cannot be reached. Check that it runs, and LOOPKEEPER_DATABASE_URL", error);
  const prefix = Object.entries(POSTGRES_PROBLEMS)
    .filter(([start]) => code.startsWith(start))
    .sort(([a], [b]) => b.length - a.length)[0];
  if (prefix !== undefined) return unavailable(prefix[1], error);
  return new LoopkeeperError("internal", `The store refused a record (${code}). This is a defect of Loopkeeper.`, {
    cause: error,
  });
}

function unavailable(problem: string, cause: unknown): LoopkeeperError {
  return new LoopkeeperError("store_unavailable", `The Postgres database of the store cannot be used: ${problem}.`, { cause });
}

/** `pg` throws these without a code. */
function isConnectionLoss(error: unknown): boolean {
  return error instanceof Error && /^(Connection terminated|timeout exceeded|Client has encountered)/i.test(error.message);
}

/** Deadlock or serialization failure: the transaction was rolled back as a whole. */
export function isRetryable(error: unknown): boolean {
  const code = systemCode(error);
  return code === "40P01" || code === "40001";
}
