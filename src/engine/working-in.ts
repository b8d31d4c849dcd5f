import { readdir, readlink, realpath } from "node:fs/promises";
import { outputOf } from "./process.ts";

/** Processes whose working directory is in a folder; null where the system does not tell. Those of other users are not seen. */
export async function processesIn(folder: string): Promise<readonly number[] | null> {
  const top = await realpath(folder).catch(() => folder);
  const directories = process.platform === "linux" ? await fromProc() : await fromLsof();
  if (directories === null) return null;
  return directories.filter(({ cwd }) => cwd === top || cwd.startsWith(`${top}/`)).map(({ pid }) => pid);
}

interface Directory {
  readonly pid: number;
  readonly cwd: string;
}

async function fromProc(): Promise<readonly Directory[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/u.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => ({ pid: Number(pid), cwd: await readlink(`/proc/${pid}/cwd`).catch(() => "") })),
  );
  return found.filter(({ cwd }) => cwd !== "");
}

async function fromLsof(): Promise<readonly Directory[] | null> {
  const env = { PATH: "/usr/sbin:/usr/bin:/bin", LC_ALL: "C" };
  const output = await outputOf({ command: "lsof", args: ["-d", "cwd", "-F", "pn"], cwd: "/", env, timeoutMs: 10_000 });
  if (output === null) return null;
  let pid = 0;
  return output
    .toString("utf8")
    .split("\n")
    .flatMap((line) => {
      if (line.startsWith("p")) pid = Number(line.slice(1));
      return line.startsWith("n") ? [{ pid, cwd: line.slice(1) }] : [];
    });
}
