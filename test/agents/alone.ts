import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type AgentName, hermeticLaunch } from "./launch.ts";
import { saidSoFar } from "./model-server/conversation.ts";
import { startModelServer } from "./model-server/server.ts";
import { type AcpAgent, startAcpAgent } from "./support/acp-agent.ts";
import { agePastMinute } from "./support/gemini-minute.ts";
import { makeRepository } from "./support/repository.ts";

const UNATTENDED: Readonly<Record<AgentName, string | null>> = {
  claude: "bypassPermissions",
  codex: "agent-full-access",
  gemini: "yolo",
  opencode: null,
};

/** The agent without the product: tells whether a broken story is the agent's fault or ours. */
export function agentAlone(name: AgentName): void {
  test(`${name} works on loopback alone and still knows its session after SIGKILL`, async () => {
    const folder = await mkdtemp(join(tmpdir(), `lane-alone-${name}-`));
    const agents: AcpAgent[] = [];
    const model = await startModelServer({
      script: [
        { say: "Writing. ", call: { tool: "write", path: "a.txt", content: "hello\n" } },
        { call: { tool: "shell", command: "echo shell-ran > b.txt" } },
        { call: { tool: "plan", entries: [{ content: "Write a.txt", status: "completed" }] } },
        { call: { tool: "report", report: { completed: ["a.txt"], intended: [], verdict: "done" } } },
        { say: "Finished: WORDS-OF-THE-ASSISTANT." },
      ],
    });
    onTestFinished(async () => {
      for (const agent of agents) await agent.kill();
      await model.stop();
      await rm(folder, { recursive: true, force: true });
    });
    const repository = makeRepository(join(folder, "repo"));
    const entry = await hermeticLaunch(name, { home: join(folder, "home"), port: model.port });
    const reports = join(folder, "reports");
    const probe = {
      name: "loopkeeper",
      command: process.execPath,
      args: [join(import.meta.dirname, "support/report-probe.ts"), reports],
      env: [],
    };
    const mode = UNATTENDED[name];

    const first = await startAcpAgent(entry, repository);
    agents.push(first);
    const session = await first.newSession([probe]);
    if (mode !== null) await first.setMode(session, mode);
    expect(await first.prompt(session, "PROMPT-ONE: write a.txt")).toBe("end_turn");
    expect(first.said()).toContain("WORDS-OF-THE-ASSISTANT");
    expect(await readFile(join(repository, "a.txt"), "utf8")).toBe("hello\n");
    expect(await readFile(join(repository, "b.txt"), "utf8")).toBe("shell-ran\n");
    expect(await readFile(reports, "utf8")).toContain('"verdict":"done"');
    await first.kill();
    if (name === "gemini") await agePastMinute(join(folder, "home"));

    model.enqueue({ say: "Second turn." });
    const second = await startAcpAgent(entry, repository);
    agents.push(second);
    await second.reopenSession(session, [probe]);
    if (mode !== null) await second.setMode(session, mode);
    expect(await second.prompt(session, "PROMPT-TWO: go on")).toBe("end_turn");
    const last = model.mainRequests().at(-1);
    const received = last === undefined ? "" : saidSoFar(last.conversation);
    expect(received).toContain("PROMPT-ONE");
    expect(received).toContain("WORDS-OF-THE-ASSISTANT");
    expect(received).toContain("PROMPT-TWO");
    expect(model.unknownPaths()).toEqual([]);
  });
}
