import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";
import { outputOf } from "./process.ts";
import { findProcess } from "./process-table.ts";

/** Names one process among all hosts and over reboots; a pid alone is reused. */
export interface ProcessIdentity {
  readonly host: string;
  readonly boot_id: string;
  readonly pid: number;
  readonly start_time: string;
}

/** Identity of this process. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  const row = await findProcess(process.pid);
  return { host: await hostName(), boot_id: await bootId(), pid: process.pid, start_time: row?.start_time ?? "" };
}

/** Whether it still is that process; null when another host (or container) has to say. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean | null> {
  if (identity.host !== (await hostName())) return null;
  if (identity.boot_id !== (await bootId())) return false;
  const row = await findProcess(identity.pid);
  return row !== null && !row.zombie && row.start_time === identity.start_time;
}

// The pid namespace that a Linux host boots with has this fixed number.
const FIRST_PID_NAMESPACE = "pid:[4026531836]";

/** The host's name, with its pid namespace inside a container: pids of two containers on one host are not comparable. */
async function hostName(): Promise<string> {
  const namespace = await readlink("/proc/self/ns/pid").catch(() => FIRST_PID_NAMESPACE);
  return namespace === FIRST_PID_NAMESPACE ? hostname() : `${hostname()} ${namespace}`;
}

async function bootId(): Promise<string> {
  const id = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => null);
  if (id !== null) return id.trim();
  const env = { PATH: "/usr/sbin:/sbin:/usr/bin:/bin", LC_ALL: "C" };
  const output = await outputOf({ command: "sysctl", args: ["-n", "kern.bootsessionuuid"], cwd: "/", env, timeoutMs: 5000 });
  return output?.toString("utf8").trim() ?? "unknown";
}
