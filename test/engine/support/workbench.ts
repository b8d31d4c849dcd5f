import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createEngines } from "../../../src/engine/create.ts";
import type { Engine, EngineLaunch, EngineListener, EngineStart, Engines, ToolCallSeen } from "../../../src/engine/engine.ts";
import type { NewJournalEntry } from "../../../src/run/event.ts";
import { newRunId, newToken } from "../../../src/run/id.ts";
import type { PlanEntry, Report } from "../../../src/run/run.ts";

const SELF = {
  command: process.execPath,
  args: ["--no-warnings", fileURLToPath(new URL("./self.ts", import.meta.url))],
};

/** Everything that a listener was told. */
export interface Heard {
  readonly entries: Omit<NewJournalEntry, "iteration">[];
  readonly plans: (readonly PlanEntry[])[];
  readonly reports: Report[];
  readonly calls: ToolCallSeen[];
  activities: number;
  readonly compactions: string[];
}

export interface Workbench {
  readonly folder: string;
  readonly cwd: string;
  readonly engines: Engines;
  readonly run_id: string;
  readonly nonce: string;
  readonly heard: Heard;
  /** Starts the scripted agent with this script (without the injected server unless it says `mcp: true`). */
  start(script: object, change?: Partial<EngineLaunch>, resume?: string | null): Promise<EngineStart>;
  /** As `start`, for a start that has to succeed. */
  engine(script: object, change?: Partial<EngineLaunch>, resume?: string | null): Promise<Engine>;
  texts(kind: string): string[];
  close(): Promise<void>;
}

/** A temp folder with a working directory, engines, and a listener that keeps what it hears. */
export async function workbench(env: Record<string, string> = {}): Promise<Workbench> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "lk-engine-")));
  const cwd = join(folder, "work tree");
  const base = { PATH: process.env["PATH"] ?? "", HOME: folder, LOOPKEEPER_SCRIPTED_HOME: join(folder, "sessions"), ...env };
  const engines = createEngines({ env: base, self: SELF, log: () => {} });
  await mkdir(cwd);
  const heard: Heard = { entries: [], plans: [], reports: [], calls: [], activities: 0, compactions: [] };
  const listener: EngineListener = {
    entry: (entry) => heard.entries.push(entry),
    plan: (entries) => heard.plans.push(entries),
    report: (report) => heard.reports.push(report),
    toolCall: (call) => heard.calls.push(call),
    compacted: (how) => heard.compactions.push(how),
    answered: () => {
      heard.activities += 1;
    },
  };
  const run_id = newRunId();
  const nonce = newToken();
  const opened: Engine[] = [];

  async function start(script: object, change: Partial<EngineLaunch> = {}, resume: string | null = null): Promise<EngineStart> {
    const file = join(folder, "script.json");
    await writeFile(file, JSON.stringify({ mcp: false, ...script }));
    const agent = {
      name: "scripted",
      profile: "scripted",
      command: SELF.command,
      args: [...SELF.args, "scripted-agent"],
      env: { LOOPKEEPER_SCRIPT: file },
    };
    const launch: EngineLaunch = {
      agent,
      run_id,
      nonce,
      cwd,
      permissions: "all",
      allow: [],
      allowed_commands: [],
      allow_once: null,
      model: null,
      mode: null,
      silence_s: 60,
      tool_silence_s: 60,
      listener,
      ...change,
    };
    const started = await engines.start(launch, { resume });
    if (started.ok) opened.push(started.engine);
    return started;
  }

  return {
    folder,
    cwd,
    engines,
    run_id,
    nonce,
    heard,
    start,
    async engine(script, change, resume) {
      const started = await start(script, change, resume);
      if (!started.ok) throw new Error(started.stop.evidence);
      return started.engine;
    },
    texts: (kind) => heard.entries.filter((entry) => entry.kind === kind).map((entry) => entry.text),
    async close() {
      await Promise.all(opened.map((engine) => engine.stop()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}
