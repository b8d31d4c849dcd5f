import { type ChildProcessByStdio, spawn } from "node:child_process";
import { open } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { sleep } from "../run/clock.ts";
import { systemCode } from "../run/errors.ts";
import type { Environment } from "./environment.ts";
import { ignoring } from "./ignored-signals.ts";

/** The only file of this folder that starts processes. Each child leads a process group and a session of its own. */

export interface ProcessExit {
  /** Null when a signal ended it. 127 when the program was not found, 126 when it cannot be executed. */
  readonly code: number | null;
  readonly signal: string | null;
}

export interface SpawnInput {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  /** Signals that the process and all that come of it are to ignore: a mark, see ignored-signals.ts. */
  readonly ignored?: readonly number[];
}

export interface SpokenProcess {
  readonly pid: number | null;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly exited: Promise<ProcessExit>;
  /** Null while it runs. */
  exit(): ProcessExit | null;
  /** The last 8,000 characters of its stderr. */
  stderrTail(): string;
}

/** A long-lived child that is spoken to over stdin and stdout. Never throws: a failed start is an exit with 126 or 127. */
export function spawnSpoken(input: SpawnInput): SpokenProcess {
  const [command, args] = marked(input.command, input.args, input.ignored);
  const child = spawn(command, args, {
    cwd: input.cwd,
    env: { ...input.env },
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  const stderr = tailOf(8000);
  child.stderr.on("data", (chunk: Buffer) => stderr.add(chunk));
  // A write after the child's death is reported by its exit; without a listener EPIPE would end this process.
  child.stdin.on("error", () => {});
  child.stdout.on("error", () => {});
  child.stderr.on("error", () => {});
  let exit: ProcessExit | null = null;
  const exited = exitOf(child, stderr).then((seen) => {
    exit = seen;
    return seen;
  });
  return {
    pid: child.pid ?? null,
    stdin: child.stdin,
    stdout: child.stdout,
    exited,
    exit: () => exit,
    stderrTail: () => stderr.text(),
  };
}

export interface ShellProcess {
  readonly pid: number | null;
  /** After the exit, output that background children still write is waited for at most 0.2 s. */
  readonly exited: Promise<ProcessExit>;
  /** Kills the process group; the whole tree is the caller's business. */
  kill(): void;
}

/** `sh -c` of one command without stdin; `onOutput` gets stdout and stderr in the order of arrival. */
export function spawnShell(input: Omit<SpawnInput, "args"> & { readonly onOutput: (chunk: Buffer) => void }): ShellProcess {
  const [command, args] = marked("/bin/sh", ["-c", input.command], input.ignored);
  const child = spawn(command, args, {
    cwd: input.cwd,
    env: { ...input.env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  child.stdout.on("data", input.onOutput);
  child.stderr.on("data", input.onOutput);
  const drained = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const exited = exitOf(child, null).then(async (exit) => {
    // A child left in the background keeps the pipes open for as long as it lives: the exit must not wait for that.
    await Promise.race([drained, sleep(200)]);
    child.stdout.destroy();
    child.stderr.destroy();
    return exit;
  });
  return { pid: child.pid ?? null, exited, kill: () => killGroup(child.pid) };
}

/** Only a shell can be told to ignore signals before the program starts; elsewhere than on Linux nobody could see them. */
function marked(command: string, args: readonly string[], ignored: readonly number[] = []): [string, readonly string[]] {
  return ignored.length === 0 || process.platform !== "linux"
    ? [command, args]
    : ["/bin/sh", [...ignoring(ignored), command, ...args]];
}

/** Starts a shell command that outlives its starter and has no stdio. */
export function spawnLoose(input: Omit<SpawnInput, "args">): number | null {
  const child = spawn("/bin/sh", ["-c", input.command], {
    cwd: input.cwd,
    env: { ...input.env },
    stdio: "ignore",
    detached: true,
  });
  child.on("error", () => {});
  child.unref();
  return child.pid ?? null;
}

/** Output of a small helper program, or null when it cannot be run, fails or takes longer than `timeoutMs`. */
export async function outputOf(input: SpawnInput & { readonly timeoutMs: number }): Promise<Buffer | null> {
  const child = spawn(input.command, input.args, {
    cwd: input.cwd,
    env: { ...input.env },
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const closed = new Promise<number | null>((resolve) => {
    child.once("error", () => resolve(null));
    child.once("close", (code) => resolve(code));
  });
  const timer = setTimeout(() => killGroup(child.pid), input.timeoutMs);
  const code = await closed;
  clearTimeout(timer);
  return code === 0 ? Buffer.concat(chunks) : null;
}

/** As `outputOf`, with the output in a file: it may be too large to be held. True when the program ended well. */
export async function outputToFile(input: SpawnInput & { readonly timeoutMs: number; readonly file: string }): Promise<boolean> {
  const file = await open(input.file, "wx", 0o600);
  try {
    const child = spawn(input.command, input.args, {
      cwd: input.cwd,
      env: { ...input.env },
      stdio: ["ignore", file.fd, "ignore"],
      detached: true,
    });
    const ended = new Promise<number | null>((resolve) => {
      child.once("error", () => resolve(null));
      child.once("exit", (code) => resolve(code));
    });
    const timer = setTimeout(() => killGroup(child.pid), input.timeoutMs);
    const code = await ended;
    clearTimeout(timer);
    return code === 0;
  } finally {
    await file.close();
  }
}

/** A shell command that has the terminal to itself and reads `text` on its stdin, as a pager does. Null when a signal ended it. */
export function runAtTerminal(input: Omit<SpawnInput, "args"> & { readonly text: string }): Promise<number | null> {
  const child = spawn("/bin/sh", ["-c", input.command], {
    cwd: input.cwd,
    env: { ...input.env },
    stdio: ["pipe", "inherit", "inherit"],
  });
  // A pager that was left before the end does not read the rest.
  child.stdin.on("error", () => {});
  child.stdin.end(input.text);
  return new Promise((resolve) => {
    child.once("error", () => resolve(127));
    child.once("exit", (code) => resolve(code));
  });
}

/** Sends SIGKILL to one process; true when it was there to be sent to. */
export function killProcess(pid: number): boolean {
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false;
  }
}

/** The end of a stream of bytes as text, at most `limit` characters. */
export function tailOf(limit: number): { add(chunk: Buffer): void; text(): string } {
  let kept = Buffer.alloc(0);
  return {
    add(chunk) {
      kept = Buffer.concat([kept, chunk]);
      // Four bytes a character at most; cut late so that a busy command does not copy at every chunk.
      if (kept.length > limit * 8) kept = kept.subarray(kept.length - limit * 4);
    },
    text: () => kept.toString("utf8").slice(-limit),
  };
}

function exitOf(
  child: ChildProcessByStdio<Writable | null, Readable, Readable>,
  stderr: { add(chunk: Buffer): void } | null,
): Promise<ProcessExit> {
  return new Promise((resolve) => {
    child.once("error", (error) => {
      if (child.pid !== undefined) return;
      stderr?.add(Buffer.from(error.message));
      resolve({ code: systemCode(error) === "EACCES" ? 126 : 127, signal: null });
    });
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}
