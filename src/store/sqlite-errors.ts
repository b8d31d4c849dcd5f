import { LeaseLostError, LoopkeeperError, systemCode } from "../run/errors.ts";

/** SQLite's result codes and what they mean for the person who runs Loopkeeper. Extended codes begin with these. */
const SQLITE_PROBLEMS = {
  SQLITE_CORRUPT: "is damaged. Move it away or restore a copy of it",
  SQLITE_NOTADB: "is damaged or is not a Loopkeeper store. Move it away or restore a copy of it",
  SQLITE_FULL: "cannot grow: the disk is full. Free disk space, then call again",
  SQLITE_READONLY: "is not writable. Make it and its folder writable for this user",
  SQLITE_CANTOPEN: "cannot be opened. Make sure that it is a file and that its folder is readable and writable for this user",
  SQLITE_PERM: "is not accessible. Make it and its folder readable and writable for this user",
  SQLITE_IOERR: "could not be read or written: the disk reported an error. Check the disk and its free space",
  SQLITE_BUSY: "is locked by another process for more than 10 s. Call again; if it stays so, end the process that holds it",
  SQLITE_LOCKED: "is locked by another process for more than 10 s. Call again; if it stays so, end the process that holds it",
} as const;

const SYSTEM_PROBLEMS: Readonly<Record<string, string>> = {
  EACCES: SQLITE_PROBLEMS.SQLITE_PERM,
  EPERM: SQLITE_PROBLEMS.SQLITE_PERM,
  EROFS: SQLITE_PROBLEMS.SQLITE_READONLY,
  ENOSPC: SQLITE_PROBLEMS.SQLITE_FULL,
  EDQUOT: SQLITE_PROBLEMS.SQLITE_FULL,
  EISDIR: SQLITE_PROBLEMS.SQLITE_CANTOPEN,
  ENOTDIR: SQLITE_PROBLEMS.SQLITE_CANTOPEN,
  EEXIST: SQLITE_PROBLEMS.SQLITE_CANTOPEN,
  EMFILE: "cannot be opened: too many files are open. Raise the limit of open files",
};

export function explainSqlite(error: unknown, path: string): unknown {
  if (error instanceof LoopkeeperError || error instanceof LeaseLostError) return error;
  const code = systemCode(error);
  if (code === null) return error;
  const problem =
    SYSTEM_PROBLEMS[code] ??
    Object.entries(SQLITE_PROBLEMS).find(([prefix]) => code === prefix || code.startsWith(`${prefix}_`))?.[1];
  if (problem === undefined) return unexpected(error, code);
  return new LoopkeeperError("store_unavailable", `The store file ${path} ${problem}.`, { cause: error });
}

function unexpected(error: unknown, code: string): unknown {
  if (!code.startsWith("SQLITE_")) return error;
  return new LoopkeeperError("internal", `The store refused a record (${code}). This is a defect of Loopkeeper.`, {
    cause: error,
  });
}

export function isBusy(error: unknown): boolean {
  const code = systemCode(error) ?? "";
  return code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED");
}
