import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createEngines } from "../../src/engine/create.ts";
import type { Engine, EngineLaunch, Engines } from "../../src/engine/engine.ts";
import { partsInMemory } from "../support/parts.ts";
import { type AgentName, hermeticEnvironment, hermeticLaunch } from "./launch.ts";
import { saidSoFar } from "./model-server/conversation.ts";
import { startModelServer } from "./model-server/server.ts";
import { makeRepository } from "./support/repository.ts";

/** The portable copy of an engine's session, as another machine would use it: nothing of the first home is there. */
export function agentMoved(name: AgentName): void {
  test(`a packed session of ${name} opens in another home and another directory, and works there`, async () => {
    const folder = await mkdtemp(join(tmpdir(), `lane-moved-${name}-`));
    const model = await startModelServer({ script: [{ say: "WORDS-OF-THE-ASSISTANT" }] });
    const engines = createEngines({
      env: hermeticEnvironment(folder),
      self: { command: process.execPath, args: [join(import.meta.dirname, "../../dist/bin/loopkeeper.js")] },
      log: () => {},
    });
    onTestFinished(async () => {
      await engines.killMarked(runId(name));
      await model.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const here = await launchIn(name, join(folder, "here"), model.port);
    const first = await started(engines, here, null);
    expect(await first.prompt("PROMPT-ONE")).toMatchObject({ kind: "ended" });
    await first.stop();
    const session = { agent: here.agent, session_id: first.session_id, cwd: here.cwd };
    const parts = partsInMemory();
    const packed = await parts.pack(engines, session);
    await rm(join(folder, "here"), { recursive: true });

    const there = await launchIn(name, join(folder, "there"), model.port);
    await parts.unpack(engines, { agent: there.agent, session_id: first.session_id, cwd: there.cwd }, packed);
    model.enqueue({ call: { tool: "shell", command: "touch made-here" } }, { say: "Second turn." });
    const second = await started(engines, there, first.session_id);
    expect(second).toMatchObject({ context: "native", why_not_native: null });
    expect(await second.prompt("PROMPT-TWO")).toMatchObject({ kind: "ended" });
    await second.stop();
    expect(existsSync(join(there.cwd, "made-here"))).toBe(true);
    const last = model.mainRequests().at(-1);
    const received = last === undefined ? "" : saidSoFar(last.conversation);
    expect(received).toContain("PROMPT-ONE");
    expect(received).toContain("WORDS-OF-THE-ASSISTANT");
  });
}

const runId = (name: AgentName) => `run_moved${name}${process.pid}`;

async function launchIn(name: AgentName, folder: string, port: number): Promise<EngineLaunch> {
  const cwd = makeRepository(join(folder, "repo"));
  const entry = await hermeticLaunch(name, { home: join(folder, "home"), port });
  const nothing = () => {};
  return {
    agent: { name: "lane", ...entry },
    run_id: runId(name),
    nonce: folder,
    cwd,
    permissions: "all",
    allow: [],
    allowed_commands: [],
    allow_once: null,
    model: null,
    mode: null,
    silence_s: 120,
    tool_silence_s: 120,
    listener: { entry: nothing, plan: nothing, report: nothing, toolCall: nothing, compacted: nothing, answered: nothing },
  };
}

async function started(engines: Engines, launch: EngineLaunch, resume: string | null): Promise<Engine> {
  const start = await engines.start(launch, { resume });
  if (!start.ok) throw new Error(start.stop.evidence);
  return start.engine;
}
