import { readFile } from "node:fs/promises";
import { findProcess } from "../../../src/engine/process-table.ts";
import { sleep } from "../../../src/run/clock.ts";

/** A pid that some process writes into a file; waits for the file to be there. */
export async function pidIn(file: string): Promise<number> {
  for (;;) {
    const text = await readFile(file, "utf8").catch(() => "");
    if (/^\d+\n/.test(text)) return Number(text);
    await sleep(20);
  }
}

export async function lives(pid: number): Promise<boolean> {
  const row = await findProcess(pid);
  return row !== null && !row.zombie;
}
