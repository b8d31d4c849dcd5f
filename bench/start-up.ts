import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Measurement, measurement, quantile } from "./measurement.ts";

const ROUNDS = 15;
const BIN = join(import.meta.dirname, "../dist/bin/loopkeeper.js");
const ONE_TOOL = join(import.meta.dirname, "one-tool-server.mjs");

/** Start of the process to the first `tools/list` answer, against a server with one tool on the same SDK, in turn. */
export async function measure(): Promise<readonly Measurement[]> {
  const home = mkdtempSync(join(tmpdir(), "lk-bench-"));
  const own: number[] = [];
  const floor: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const one = await firstList([ONE_TOOL], home);
    const ours = await firstList([BIN], home);
    // The first round fills caches of the file system and of compiled code.
    if (round > 0) {
      floor.push(one);
      own.push(ours);
    }
  }
  rmSync(home, { recursive: true, force: true });
  return [
    measurement({
      name: "start-up to the first tools/list",
      value: quantile(own, 0.5),
      floor: quantile(floor, 0.5),
      limit: 1.6,
      unit: "ms",
      note: `median of ${ROUNDS}, against a one-tool server of the same SDK`,
    }),
  ];
}

async function firstList(args: readonly string[], home: string): Promise<number> {
  const begun = performance.now();
  const child = spawn(process.execPath, args, {
    stdio: ["pipe", "pipe", "ignore"],
    env: { PATH: process.env["PATH"], HOME: home, LOOPKEEPER_HOME: home },
  });
  const send = (message: object): boolean => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  send({
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "0" } },
  });
  send({ method: "notifications/initialized" });
  send({ id: 2, method: "tools/list", params: {} });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes('"id":2')) break;
  }
  const took = performance.now() - begun;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.stdin.end();
  child.kill();
  await exited;
  return took;
}
