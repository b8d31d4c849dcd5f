import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, inject } from "vitest";
import { z } from "zod";
import { sleep } from "../../src/run/clock.ts";
import { newDatabase } from "./postgres.ts";
import { Replays } from "./replays.ts";
import { makeSandbox, type Sandbox } from "./repos.ts";
import type { BackendName } from "./stores.ts";

/** The built product through its public door: server processes over stdio, driven as an MCP client drives them. */
export const BIN = join(import.meta.dirname, "../../dist/bin/loopkeeper.js");

const act = z.looseObject({ kind: z.string(), what: z.string(), ref: z.string().nullable() });
const item = z.object({ what: z.string(), source: z.string() });

/** The parts of answers that stories look at; everything else stays in them too. */
const answerSchema = z.looseObject({
  summary: z.string(),
  run: z
    .looseObject({
      run_id: z.string(),
      state: z.string(),
      stop_reason: z.string().nullable(),
      resumable: z.boolean(),
      iteration: z.number(),
      max_iterations: z.number(),
      revision: z.number(),
      waiting_until: z.string().nullable(),
      workspace: z.looseObject({ path: z.string() }),
      repository: z.looseObject({ branch: z.string().nullable() }),
      stop: z
        .looseObject({
          headline: z.string(),
          needs: z.array(z.string()),
          class: z.string(),
          question: z.looseObject({ text: z.string() }).nullable(),
        })
        .nullable(),
      steps: z.array(z.looseObject({ step: z.string(), state: z.string(), attempt: z.number() })),
    })
    .optional(),
  next_actions: z
    .array(z.looseObject({ tool: z.string(), args: z.record(z.string(), z.unknown()), needs: z.array(z.string()) }))
    .optional(),
  explanation: z
    .looseObject({
      headline: z.string(),
      cause: z.looseObject({ stop_reason: z.string(), source: z.string(), evidence: z.string() }),
      completed: z.array(item),
      midway: z.array(item),
      intended: z.array(item),
      acts: z.object({ landed: z.array(act), unobserved: z.array(act) }),
      uncommitted: z.looseObject({
        total_files: z.number(),
        checkpoint: z.string().nullable(),
        files: z.array(z.looseObject({ path: z.string(), owner: z.string() })),
      }),
      spans: z.array(z.looseObject({ ended_by: z.string(), unfinished: z.boolean() })),
      checkpoints: z.array(z.looseObject({ id: z.string(), kind: z.string(), state: z.string() })),
      undelivered_instructions: z.array(z.string()),
    })
    .optional(),
  choices: z
    .array(
      z.looseObject({
        action: z.string(),
        tool: z.string(),
        args: z.record(z.string(), z.unknown()),
        needs: z.array(z.string()),
        allowed: z.boolean(),
        recommended: z.boolean(),
        why: z.string(),
      }),
    )
    .optional(),
  resumed: z.looseObject({ attempt: z.number(), context: z.string(), note: z.string(), restore: z.unknown() }).nullish(),
  consequences: z
    .object({
      happens: z.array(z.string()),
      undoes: z.array(z.string()),
      cannot_undo: z.array(z.string()),
      conflicts: z.array(z.object({ path: z.string(), changed_by: z.string() })),
    })
    .optional(),
  confirm_token: z.string().optional(),
  reset: z
    .object({
      restored: z.array(z.string()),
      removed: z.array(z.string()),
      kept: z.array(z.string()),
      safety_checkpoint: z.string(),
    })
    .optional(),
  timed_out: z.boolean().optional(),
});
export type Answer = z.infer<typeof answerSchema>;
export type RunView = NonNullable<Answer["run"]>;

/** A refused call: `code`, and the whole text. */
class Refused extends Error {
  override readonly name = "Refused";
  get code(): string {
    return this.message.split(":")[0] ?? "";
  }
}

export interface Door {
  /** The structured answer; throws Refused with the text of an error. */
  call(tool: string, args?: Readonly<Record<string, unknown>>): Promise<Answer>;
  /** The text half of the answer. */
  text(tool: string, args?: Readonly<Record<string, unknown>>): Promise<string>;
  /** The text of a resource. */
  read(uri: string): Promise<string>;
  /** The text of a resource. */
  resource(uri: string): Promise<string>;
  start(args: Readonly<Record<string, unknown>>): Promise<RunView>;
  /** Waits until the run is stopped or done. */
  ended(runId: string): Promise<RunView>;
  close(): Promise<void>;
}

export interface Product {
  readonly box: Sandbox;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  /** Adds an agent that plays these turns (see the scripted agent's docstring); the name is for `agent`. */
  agent(name: string, turns: readonly unknown[], more?: Readonly<Record<string, unknown>>): string;
  /** Takes an agent out of the configuration again. */
  forget(name: string): void;
  /** Sets further fields of the configuration file. */
  configure(fields: Readonly<Record<string, unknown>>): void;
  connect(env?: Readonly<Record<string, string>>, cwd?: string): Promise<Door>;
  /** SIGKILL to every process of this home: servers, worker, engines and what they started. */
  killEverything(): Promise<void>;
  /** Ids of the live worker processes. */
  workers(): readonly number[];
  /** SIGKILL to the workers alone. */
  killWorker(): Promise<void>;
  /** SIGTERM to the workers. */
  endWorker(): void;
  /** Ids of live processes whose environment holds `text`. */
  processesWith(text: string): readonly number[];
  /** Says which runs the test damages; all others must replay when the tests of the file are over. */
  readonly replays: Replays;
}

/** A home of its own with a repository sandbox; everything is killed and removed after the calling file's tests. */
export async function newProduct(backend: BackendName = "sqlite"): Promise<Product> {
  const product = openProduct(backend === "postgres" ? await newDatabase(inject("postgresHome")) : null);
  opened.push(product);
  return product;
}

/** Ended by one hook of the file: a hook that is registered while a test runs is never called. */
const opened: Product[] = [];
// Benchmarks and scripts use what is beside it, outside of a test run.
if (process.env["VITEST"] !== undefined) {
  afterAll(async () => {
    const ended = await Promise.allSettled(opened.splice(0).map(endOf));
    for (const end of ended) if (end.status === "rejected") throw end.reason;
  });
}

async function endOf(product: Product): Promise<void> {
  await product.killEverything();
  try {
    await product.replays.check();
  } finally {
    product.box.remove();
  }
}

/** As `newProduct`, of any build, and nothing is ended or removed by itself. */
export function openProduct(databaseUrl: string | null, bin = BIN): Product {
  const box = makeSandbox();
  const home = join(box.dir, "loopkeeper");
  const config = join(box.dir, "config.json");
  const agents: Record<string, unknown> = {};
  let fields: Record<string, unknown> = { fetch_remote: false };
  // Renamed into place: a worker of a story that runs beside this one may read it at any moment.
  const save = (): void => {
    writeFileSync(`${config}.new`, JSON.stringify({ ...fields, agents }));
    renameSync(`${config}.new`, config);
  };
  save();
  const env = {
    ...box.env,
    LOOPKEEPER_HOME: home,
    LOOPKEEPER_CONFIG: config,
    LOOPKEEPER_SCRIPTED_HOME: join(box.dir, "scripted"),
    ...(databaseUrl === null ? {} : { LOOPKEEPER_DATABASE_URL: databaseUrl }),
  };
  const replays = new Replays();
  const product: Product = {
    box,
    home,
    env,
    agent: (name, turns, more = {}) => {
      const script = join(box.dir, `script-${name}.json`);
      writeFileSync(script, JSON.stringify({ turns }));
      agents[name] = {
        command: process.execPath,
        args: [bin, "scripted-agent", "--script", script],
        profile: "scripted",
        ...more,
      };
      save();
      return name;
    },
    forget: (name) => {
      delete agents[name];
      save();
    },
    configure: (more) => {
      fields = { ...fields, ...more };
      save();
    },
    connect: (more = {}, cwd = box.dir) => {
      const all: Readonly<Record<string, string>> = { ...env, ...more };
      replays.watch({ url: all["LOOPKEEPER_DATABASE_URL"] ?? null, path: join(all["LOOPKEEPER_HOME"] ?? home, "loopkeeper.db") });
      return connect(all, cwd, replays, bin);
    },
    killEverything: () => killAll(() => processesWith(home)),
    workers: () => workersOf(home),
    killWorker: () => killAll(() => workersOf(home)),
    endWorker: () => {
      for (const pid of workersOf(home)) process.kill(pid, "SIGTERM");
    },
    processesWith,
    replays,
  };
  mkdirSync(home, { recursive: true });
  return product;
}

async function connect(env: Readonly<Record<string, string>>, cwd: string, replays: Replays, bin: string): Promise<Door> {
  const client = new Client({ name: "scenario", version: "0" });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [bin], env: { ...env }, cwd, stderr: "ignore" }),
  );
  async function raw(tool: string, args: Readonly<Record<string, unknown>>) {
    const result = await client.callTool({ name: tool, arguments: { ...args } }, { timeout: 300_000 });
    const text = z
      .array(z.looseObject({ text: z.string().optional() }))
      .parse(result.content)
      .map((part) => part.text ?? "")
      .join("\n");
    if (result.isError === true) throw new Refused(text);
    if (tool === "coding_loop_start") {
      const started = answerSchema.safeParse(result.structuredContent).data?.run;
      if (started !== undefined) replays.started(started.run_id);
    }
    return { structured: result.structuredContent, text };
  }
  const door: Door = {
    call: async (tool, args = {}) => answerSchema.parse((await raw(tool, args)).structured),
    text: async (tool, args = {}) => (await raw(tool, args)).text,
    read: async (uri) =>
      z
        .array(z.looseObject({ text: z.string() }))
        .parse((await client.readResource({ uri })).contents)
        .map((part) => part.text)
        .join(""),
    resource: async (uri) => {
      const { contents } = await client.readResource({ uri });
      return contents.map((part) => ("text" in part ? part.text : "")).join("\n");
    },
    start: async (args) => viewOf(await door.call("coding_loop_start", args)),
    ended: async (runId) => {
      for (;;) {
        const answer = await door.call("run_wait", { run_id: runId, timeout_s: 30 });
        if (answer.timed_out !== true) return viewOf(answer);
      }
    },
    close: () => client.close(),
  };
  return door;
}

function viewOf(answer: Answer): RunView {
  if (answer.run === undefined) throw new Error("the answer holds no run");
  return answer.run;
}

/** The refusal of a call that must be refused. */
export async function refusalOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
  throw new Error("the call was not refused");
}

/** Waits until a file is there, as a sign from inside a turn. */
export async function fileAppears(path: string): Promise<void> {
  while (!existsSync(path)) await sleep(50);
}

function processesWith(text: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && readProc(pid, "environ").includes(text));
}

const workersOf = (home: string): readonly number[] => processesWith(home).filter((pid) => commandLine(pid).includes("\0worker"));

const commandLine = (pid: number): string => readProc(pid, "cmdline");

function readProc(pid: number, what: string): string {
  try {
    return readFileSync(`/proc/${pid}/${what}`, "utf8");
  } catch {
    return "";
  }
}

/** Repeats until two looks in a row find nothing: a process may start another while it is being killed. */
async function killAll(find: () => readonly number[]): Promise<void> {
  for (let empty = 0; empty < 2; ) {
    const pids = find();
    empty = pids.length === 0 ? empty + 1 : 0;
    for (const pid of pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It ended by itself in between.
      }
    }
    await sleep(50);
  }
}
