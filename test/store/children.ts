import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { StorePlace } from "../support/stores.ts";

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));

interface Job {
  readonly job: "open" | "events" | "grants" | "claims" | "stream";
  readonly run_id?: string;
  readonly times?: number;
}

/** A process with a store handle of its own, at work. */
export function startChild(place: StorePlace, job: Job): ChildProcess {
  const { url, path } = place.options;
  return spawn(process.execPath, [CHILD, JSON.stringify({ url, path, ...job })], { stdio: ["ignore", "pipe", "inherit"] });
}

/** Runs one job in several processes at once and answers the last line of each, parsed. */
export async function inProcesses(place: StorePlace, jobs: readonly Job[]): Promise<unknown[]> {
  return Promise.all(jobs.map((job) => resultOf(startChild(place, job))));
}

async function resultOf(child: ChildProcess): Promise<unknown> {
  const exit = once(child, "exit");
  const lines = await linesOf(child);
  const [code] = await exit;
  if (code !== 0) throw new Error(`a child ended with ${String(code)}`);
  return JSON.parse(lines.at(-1) ?? "null");
}

async function linesOf(child: ChildProcess): Promise<string[]> {
  const lines: string[] = [];
  if (child.stdout !== null) for await (const line of createInterface({ input: child.stdout })) lines.push(line);
  return lines;
}

/** Lets a child print `count` lines, kills it without warning, and answers all lines that it had printed by then. */
export async function killAfter(child: ChildProcess, count: number): Promise<string[]> {
  const exit = once(child, "exit");
  const lines: string[] = [];
  if (child.stdout !== null) {
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (lines.length === count) child.kill("SIGKILL");
    }
  }
  await exit;
  return lines;
}
