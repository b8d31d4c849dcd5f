import { readdir, readFile } from "node:fs/promises";

/** Kills a process and everything below it. The tree is read first: tool shells have sessions of their own, and an orphan would write on. */
export async function killTree(root: number): Promise<void> {
  for (const pid of (await descendants(root)).reverse()) kill(pid);
}

/** Ids of live processes whose environment holds `text`. */
export async function processesWith(text: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const pid of await pids()) {
    const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
    if (pid !== process.pid && environment.includes(text)) found.push(pid);
  }
  return found;
}

export function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself in between.
  }
}

async function descendants(root: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const pid of await pids()) {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    // The command's name may hold blanks and brackets: the fields begin behind the last one.
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    parents.set(pid, parent);
  }
  const tree = [root];
  for (const pid of tree) for (const [child, parent] of parents) if (parent === pid && !tree.includes(child)) tree.push(child);
  return tree;
}

async function pids(): Promise<number[]> {
  return (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
}
