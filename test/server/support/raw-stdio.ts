import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { z } from "zod";

const messageSchema = z.looseObject({ id: z.number().optional(), result: z.record(z.string(), z.unknown()).optional() });

/** A server process spoken to without any SDK, to send what no present client sends and to see every byte it writes. */
export interface RawServer {
  readonly child: ChildProcess;
  /** Every line of stdout so far. */
  readonly lines: string[];
  send(...messages: readonly object[]): void;
  /** The result of the request with this id, once it came. */
  result(id: number): Promise<Record<string, unknown>>;
  endInput(): void;
  /** Exit code, or the signal that ended it. */
  exit(): Promise<number | NodeJS.Signals | null>;
}

export function spawnRaw(command: string, args: readonly string[], env: Record<string, string>, cwd: string): RawServer {
  const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
  const lines: string[] = [];
  const results = new Map<number, Record<string, unknown>>();
  const waiting = new Map<number, (result: Record<string, unknown>) => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    const { id, result } = messageSchema.parse(JSON.parse(line));
    if (id === undefined || result === undefined) return;
    results.set(id, result);
    waiting.get(id)?.(result);
  });
  const exited = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  return {
    child,
    lines,
    send: (...messages) => {
      child.stdin.write(messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
    },
    result: (id) =>
      new Promise((resolve) => {
        const known = results.get(id);
        if (known === undefined) waiting.set(id, resolve);
        else resolve(known);
      }),
    endInput: () => child.stdin.end(),
    exit: () => exited,
  };
}

/** The opening of a client of `revision`. */
export function hello(revision: string): readonly object[] {
  return [
    {
      id: 1,
      method: "initialize",
      params: { protocolVersion: revision, capabilities: {}, clientInfo: { name: "raw", version: "1" } },
    },
    { method: "notifications/initialized" },
  ];
}
