import { readdir, readFile } from "node:fs/promises";
import { outputOf } from "./process.ts";

/** One process as the system lists it. */
export interface ProcessRow {
  readonly pid: number;
  readonly ppid: number;
  /** Session id: stays the starter's even when the parent dies, until a process calls setsid. */
  readonly session: number;
  /** Opaque; together with the pid it names a process for as long as the host is up. */
  readonly start_time: string;
  readonly zombie: boolean;
}

/** All processes of the host (or of this container). */
export async function listProcesses(): Promise<readonly ProcessRow[]> {
  if (process.platform !== "linux") return parsePs(await runPs(["-A", "-o", "pid=,ppid=,sess=,state=,lstart="]));
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const rows = await Promise.all(pids.map((pid) => readStat(pid)));
  return rows.filter((row) => row !== null);
}

/** One process, or null when there is none of that pid. */
export async function findProcess(pid: number): Promise<ProcessRow | null> {
  if (process.platform === "linux") return readStat(String(pid));
  return parsePs(await runPs(["-p", String(pid), "-o", "pid=,ppid=,sess=,state=,lstart="]))[0] ?? null;
}

/** Whether the process was started with all of these `NAME=value` pairs in its environment; false when it may not be read. */
export async function hasVariables(pid: number, pairs: readonly string[]): Promise<boolean> {
  if (process.platform !== "linux") {
    const shown = (await runPs(["-E", "-ww", "-p", String(pid), "-o", "command="])).split(/\s+/);
    return pairs.every((pair) => shown.includes(pair));
  }
  const environment = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
  const variables = new Set(environment.split("\0"));
  return pairs.every((pair) => variables.has(pair));
}

/** The signals that the process ignores, as the hexadecimal mask that Linux shows; null elsewhere and when it is gone. */
export async function ignoredMask(pid: number): Promise<string | null> {
  if (process.platform !== "linux") return null;
  const status = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
  return /^SigIgn:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? null;
}

async function readStat(pid: string): Promise<ProcessRow | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => null);
  if (stat === null) return null;
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    pid: Number(pid),
    ppid: Number(fields[1]),
    session: Number(fields[3]),
    start_time: fields[19] ?? "",
    zombie: fields[0] === "Z" || fields[0] === "X",
  };
}

/** Rows of `ps -o pid=,ppid=,sess=,state=,lstart=`, for hosts without /proc. */
export function parsePs(text: string): readonly ProcessRow[] {
  return text.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(.+?)\s*$/.exec(line);
    if (match === null) return [];
    const [, pid, ppid, session, state = "", start_time = ""] = match;
    return [{ pid: Number(pid), ppid: Number(ppid), session: Number(session), start_time, zombie: state.startsWith("Z") }];
  });
}

async function runPs(args: readonly string[]): Promise<string> {
  const env = { PATH: "/bin:/usr/bin", LC_ALL: "C" };
  const output = await outputOf({ command: "ps", args, cwd: "/", env, timeoutMs: 5000 });
  return output?.toString("utf8") ?? "";
}
