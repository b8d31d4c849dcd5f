import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { z } from "zod";
import { sleep } from "../../../src/run/clock.ts";
import { type AgentEntry, hermeticEnvironment } from "../launch.ts";
import { kill, processesWith } from "./processes.ts";

const BIN = join(import.meta.dirname, "../../../dist/bin/loopkeeper.js");

/** The part of every answer that the stories look at. */
const Answer = z.looseObject({
  summary: z.string(),
  run: z.looseObject({
    run_id: z.string(),
    state: z.string(),
    stop_reason: z.string().nullable(),
    resumable: z.boolean(),
    iteration: z.number(),
    max_iterations: z.number(),
    workspace: z.looseObject({ path: z.string() }),
    steps: z.array(z.looseObject({ step: z.string(), state: z.string(), attempt: z.number() })),
    stop: z.looseObject({ headline: z.string(), needs: z.array(z.string()) }).nullable(),
  }),
});
const Context = z.enum(["pending", "new", "native", "handoff"]).nullable();
const Status = Answer.extend({ context: Context });
const Previewed = z.looseObject({ confirm_token: z.string() });
const Redone = z.looseObject({
  redone: z.object({ step: z.string(), attempt: z.number(), reopened_steps: z.array(z.string()) }),
  reset: z.looseObject({ removed: z.array(z.string()) }),
});
const Resumed = z.looseObject({ resumed: z.looseObject({ context: Context, why_handoff: z.string().nullable() }).nullable() });
const Explained = z.looseObject({
  explanation: z.looseObject({
    headline: z.string(),
    cause: z.looseObject({ stop_reason: z.string(), source: z.string(), evidence: z.string() }),
    uncommitted: z.looseObject({ files: z.array(z.looseObject({ path: z.string() })) }),
  }),
});

export type RunAnswer = z.infer<typeof Answer>;
export type RunView = RunAnswer["run"];
export type Explanation = z.infer<typeof Explained>["explanation"];

/** Loopkeeper through its public door: one server process over stdio, used as an MCP client uses it. */
export interface Product {
  start(args: Readonly<Record<string, unknown>>): Promise<RunView>;
  status(runId: string): Promise<RunView>;
  /** Waits until the run is stopped or done. */
  ended(runId: string): Promise<RunView>;
  explain(runId: string): Promise<Explanation>;
  /** Answers how the engine took it up: `native`, or `handoff` with the reason. */
  resume(args: Readonly<Record<string, unknown>> & { readonly run_id: string }): Promise<string>;
  /** Stops it now and waits until it is. */
  stopped(runId: string): Promise<RunView>;
  /** Preview and confirmation. */
  redo(runId: string, step: string): Promise<z.infer<typeof Redone>>;
  close(): Promise<void>;
}

/** A home of the product and everything that a story leaves behind, under one temporary folder. */
export interface ProductHome {
  readonly folder: string;
  connect(): Promise<Product>;
  /** SIGKILL to server, worker, engine and whatever they started, until nothing of this home lives. */
  killEverything(): Promise<void>;
  /** SIGKILL to the worker alone. */
  killWorker(): Promise<void>;
}

export async function makeProductHome(
  folder: string,
  agents: Readonly<Record<string, AgentEntry>>,
  more: Readonly<Record<string, string>> = {},
): Promise<ProductHome> {
  const config = join(folder, "config.json");
  const settings = { agents, default_agent: Object.keys(agents)[0], fetch_remote: false };
  await writeFile(config, JSON.stringify(settings));
  const environment = {
    ...hermeticEnvironment(join(folder, "home")),
    LOOPKEEPER_CONFIG: config,
    LOOPKEEPER_HOME: join(folder, "loopkeeper"),
    ...more,
  };
  return {
    folder,
    connect: () => connect(environment, folder),
    killEverything: () => killAll(() => processesWith(folder)),
    killWorker: () => killAll(() => workersOf(folder)),
  };
}

async function connect(env: Record<string, string>, cwd: string): Promise<Product> {
  const client = new Client({ name: "agents-lane", version: "0" });
  const transport = new StdioClientTransport({ command: process.execPath, args: [BIN], env, cwd, stderr: "pipe" });
  let log = "";
  transport.stderr?.on("data", (chunk) => {
    log = `${log}${chunk}`.slice(-4_000);
  });
  await client.connect(transport);
  const call = async (name: string, args: Readonly<Record<string, unknown>>): Promise<unknown> => {
    const result = await client.callTool({ name, arguments: { ...args } }, { timeout: 60_000 });
    if (result.isError === true) throw new Error(`${name}: ${JSON.stringify(result.content)}\n${log}`);
    return result.structuredContent;
  };
  const status = async (runId: string) => Answer.parse(await call("run_status", { run_id: runId })).run;
  const ended = async (runId: string): Promise<RunView> => {
    for (;;) {
      const { run } = Answer.parse(await call("run_wait", { run_id: runId, timeout_s: 30 }));
      if (run.state === "stopped" || run.state === "done") return run;
    }
  };
  return {
    start: async (args) => Answer.parse(await call("coding_loop_start", args)).run,
    status,
    ended,
    stopped: async (runId) => {
      await call("run_stop", { run_id: runId });
      return ended(runId);
    },
    redo: async (runId, step) => {
      const wish = { run_id: runId, step };
      const { confirm_token } = Previewed.parse(await call("run_redo", wish));
      return Redone.parse(await call("run_redo", { ...wish, confirm_token }));
    },
    explain: async (runId) => Explained.parse(await call("run_explain_stop", { run_id: runId })).explanation,
    resume: async (args) => {
      const { resumed } = Resumed.parse(await call("run_resume", args));
      if (resumed === null) throw new Error("nothing was resumed");
      if (resumed.why_handoff !== null) return `${resumed.context}: ${resumed.why_handoff}`;
      if (resumed.context !== "pending") return `${resumed.context}`;
      // A slow machine: the answer came before the engine was up.
      for (;;) {
        const { context } = Status.parse(await call("run_status", { run_id: args.run_id }));
        if (context !== "pending") return `${context}`;
        await sleep(500);
      }
    },
    close: () => client.close(),
  };
}

async function killAll(find: () => Promise<readonly number[]>): Promise<void> {
  // A process that is being born while the list is read shows up in the next one.
  for (let found = await find(); found.length > 0; found = await find()) {
    for (const pid of found) kill(pid);
    await sleep(50);
  }
}

async function workersOf(folder: string): Promise<readonly number[]> {
  const workers: number[] = [];
  for (const pid of await processesWith(`LOOPKEEPER_HOME=${join(folder, "loopkeeper")}`)) {
    const command = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
    if (command[1] === BIN && command[2] === "worker") workers.push(pid);
  }
  return workers;
}
