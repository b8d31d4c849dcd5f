import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify, stripVTControlCharacters } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type AgentEntry, type AgentName, hermeticLaunch } from "./launch.ts";
import { makeRepository } from "./support/repository.ts";

const run = promisify(execFile);
const BIN = join(import.meta.dirname, "../../dist/bin/loopkeeper.js");
const PROBE = join(import.meta.dirname, "support/seen-environment.ts");
const CODEX = join(import.meta.dirname, "node_modules/@openai/codex/bin/codex.js");

const CLIENTS: Readonly<Record<AgentName, string>> = {
  claude: "claude-code",
  codex: "codex",
  gemini: "gemini",
  opencode: "opencode",
};

/** What the program says of the servers in its configuration, after it has connected to them. */
const ASKED: Readonly<Record<AgentName, (entry: AgentEntry, cwd: string) => Promise<string>>> = {
  claude: ({ command, args, env }, cwd) => said(command, [...args, "--cli", "mcp", "list"], { env, cwd }),
  codex: ({ env }, cwd) => codexServers(env, cwd),
  gemini: ({ command, args, env }, cwd) => said(command, [...args.slice(0, 1), "mcp", "list"], { env, cwd }),
  opencode: ({ command, env }, cwd) => said(command, ["mcp", "list"], { env, cwd }),
};

const CONNECTED: Readonly<Record<AgentName, RegExp>> = {
  claude: /^loopkeeper: .* ✔ Connected$/mu,
  codex: /"coding_loop_start"/u,
  gemini: /^✓ loopkeeper: .* Connected$/mu,
  opencode: /✓ loopkeeper connected$/mu,
};

const writtenSchema = z.object({ file: z.string(), state: z.literal("written") });

/** The program as a client: what `loopkeeper setup` writes is what it reads. */
export function agentAsClient(name: AgentName): void {
  const title = `${name} connects to what setup wrote into its configuration, and hands on what the server needs`;
  // Gemini CLI and Claude Code wait for a server a few seconds and no longer, which a busy machine may need to start it.
  test(title, { retry: 2 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), `lane-client-${name}-`));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const home = join(folder, "home");
    const repository = makeRepository(join(folder, "repo"));
    const entry = await hermeticLaunch(name, { home, port: 9 });
    const own = { LOOPKEEPER_HOME: join(folder, "loopkeeper"), LOOPKEEPER_KEY: "00".repeat(32), SSH_AUTH_SOCK: "/run/agent" };
    const env = { ...entry.env, ...own };

    const words = ["setup", CLIENTS[name], "--write", "--json"];
    const { stdout } = await run(process.execPath, [BIN, ...words], { env, cwd: repository });
    const { file } = writtenSchema.parse(JSON.parse(stdout));
    await writeFile(file, (await readFile(file, "utf8")).replace(BIN, PROBE));

    expect(await ASKED[name]({ ...entry, env }, repository)).toMatch(CONNECTED[name]);
    expect(JSON.parse(await readFile(join(home, "seen-environment.json"), "utf8"))).toMatchObject(own);
  });
}

async function said(command: string, args: string[], at: { env: AgentEntry["env"]; cwd: string }): Promise<string> {
  const { stdout, stderr } = await run(command, args, { cwd: at.cwd, env: { ...at.env } });
  return stripVTControlCharacters(`${stdout}\n${stderr}`);
}

/** `codex mcp list` connects to nothing; its app server does. */
async function codexServers(env: AgentEntry["env"], cwd: string): Promise<string> {
  const server = spawn(process.execPath, [CODEX, "app-server"], { cwd, env: { ...env }, stdio: ["pipe", "pipe", "ignore"] });
  const exited = new Promise((resolve) => server.once("exit", resolve));
  const requests = [
    { id: 1, method: "initialize", params: { clientInfo: { name: "agents-lane", version: "0" } } },
    { method: "initialized" },
    { id: 2, method: "mcpServerStatus/list", params: {} },
  ];
  server.stdin.write(requests.map((request) => `${JSON.stringify(request)}\n`).join(""));
  let answer = "";
  for await (const line of createInterface({ input: server.stdout })) {
    if (!line.startsWith('{"id":2,')) continue;
    answer = line;
    break;
  }
  server.stdin.end();
  await exited;
  return answer;
}
