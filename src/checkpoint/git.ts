import { spawn } from "node:child_process";

/** What every git call gets: nothing that a repository's own configuration names may run, and nothing goes to the network. */
const HARDENED = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=keep",
  "core.splitIndex=false",
  "core.ignoreStat=false",
  "core.checkStat=default",
  "core.trustctime=true",
  "core.symlinks=true",
  "core.quotePath=false",
  "core.pager=cat",
  "core.alternateRefsCommand=",
  "core.sshCommand=false",
  "core.askPass=",
  "index.sparse=false",
  "submodule.recurse=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "protocol.allow=never",
  "credential.helper=",
  "diff.external=",
  "log.showSignature=false",
  "commit.gpgSign=false",
  "tag.gpgSign=false",
  "pack.useSparse=false",
  "advice.detachedHead=false",
] as const;

const IDENTITY = { name: "Loopkeeper", email: "loopkeeper@localhost" } as const;

export interface GitCall {
  readonly cwd: string;
  readonly input?: Buffer | string;
  /** Exit codes that are answers, not failures. */
  readonly ok?: readonly number[];
  /** More `-c name=value`. */
  readonly config?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Drops so many bytes of the output first. */
  readonly skip_bytes?: number;
  /** Stops reading (and git) after so many bytes. */
  readonly max_bytes?: number;
  /** Takes the output as it comes; none of it is kept. */
  readonly on_output?: (chunk: Buffer) => void;
}

export interface GitOutput {
  readonly code: number;
  readonly bytes: Buffer;
  /** `bytes` as text without the last line end. */
  readonly text: string;
  readonly cut: boolean;
}

export type Git = (args: readonly string[], call: GitCall) => Promise<GitOutput>;

/** A git call that failed. `code` is a system error code (`ENOSPC`, `EACCES`...) when the disk was the reason. */
export class GitFailure extends Error {
  override readonly name = "GitFailure";
  readonly code: string | null;
  readonly exit_code: number | null;
  readonly stderr: string;
  constructor(args: readonly string[], exitCode: number | null, stderr: string) {
    super(`git ${args.slice(0, 2).join(" ")} ended with ${exitCode ?? "a signal"}: ${stderr.slice(0, 400).trim()}`);
    this.code = systemCodeIn(stderr);
    this.exit_code = exitCode;
    this.stderr = stderr;
  }
}

/** The one spawner of git. `base` is the user's environment; its `GIT_*` variables are dropped. */
export function createGit(base: Readonly<Record<string, string>>): Git {
  const env = hardenedEnvironment(base);
  return (args, call) => {
    const settings = [...HARDENED, ...(call.config ?? [])].flatMap((setting) => ["-c", setting]);
    return start([...settings, ...args], args, { ...env, ...call.env }, call);
  };
}

/**
 * Asks a remote for refs. Runs outside of any repository, so that only the user's own configuration counts (credential
 * helpers, ssh command, proxies), never the repository's. Null when there was no answer within `limit_ms`.
 */
export async function listRemote(
  base: Readonly<Record<string, string>>,
  url: string,
  patterns: readonly string[],
  limit_ms: number,
): Promise<string | null> {
  const env = { ...remoteEnvironment(base), GIT_DIR: "/dev/null/none" };
  const args = ["ls-remote", "--", url, ...patterns];
  try {
    return (await start(args, args, env, { cwd: "/" }, limit_ms)).text;
  } catch {
    return null;
  }
}

/**
 * Runs git in a repository of ours against a remote, with the user's own configuration alone (as `listRemote`). Answers its
 * output, or null when it failed or took longer than `limit_ms`.
 */
export async function gitAtRemote(
  base: Readonly<Record<string, string>>,
  gitDir: string,
  args: readonly string[],
  limit_ms: number,
): Promise<string | null> {
  try {
    return (await start(args, args, { ...remoteEnvironment(base), GIT_DIR: gitDir }, { cwd: "/" }, limit_ms)).text;
  } catch {
    return null;
  }
}

function remoteEnvironment(base: Readonly<Record<string, string>>): Record<string, string> {
  return {
    ...withoutGit(base),
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "",
    SSH_ASKPASS_REQUIRE: "never",
    GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh",
  };
}

function start(
  argv: readonly string[],
  named: readonly string[],
  env: Record<string, string>,
  call: GitCall,
  limit_ms?: number,
): Promise<GitOutput> {
  return new Promise((resolve, reject) => {
    // A call with a limit leads its own session: no terminal to prompt on, and its helpers can be ended with it.
    const child = spawn("git", [...argv], {
      cwd: call.cwd,
      env,
      stdio: ["pipe", "pipe", "pipe"],
      detached: limit_ms !== undefined,
    });
    const timer = limit_ms === undefined ? undefined : setTimeout(() => endGroup(child.pid), limit_ms);
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    let size = 0;
    let cut = false;
    let skip = call.skip_bytes ?? 0;
    child.stdout.on("data", (read: Buffer) => {
      if (cut) return;
      const chunk = skip > 0 ? read.subarray(skip) : read;
      skip = Math.max(0, skip - read.length);
      if (call.on_output === undefined) out.push(chunk);
      else call.on_output(chunk);
      size += chunk.length;
      if (call.max_bytes !== undefined && size > call.max_bytes) {
        cut = true;
        child.kill();
      }
    });
    child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
    // git may end before it has read all of its input; its exit code tells, not the broken pipe.
    child.stdin.on("error", () => {});
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      const bytes = Buffer.concat(out);
      if (!cut && !(call.ok ?? [0]).includes(code ?? -1)) {
        reject(new GitFailure(named, code, Buffer.concat(err).toString("utf8")));
        return;
      }
      const text = bytes.toString("utf8").replace(/\n$/, "");
      resolve({ code: code ?? 0, bytes, text, cut });
    });
    child.stdin.end(call.input ?? "");
  });
}

function hardenedEnvironment(base: Readonly<Record<string, string>>): Record<string, string> {
  return {
    ...withoutGit(base),
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_LITERAL_PATHSPECS: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "",
    GIT_AUTHOR_NAME: IDENTITY.name,
    GIT_AUTHOR_EMAIL: IDENTITY.email,
    GIT_COMMITTER_NAME: IDENTITY.name,
    GIT_COMMITTER_EMAIL: IDENTITY.email,
  };
}

function withoutGit(base: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(base).filter(([name]) => !name.startsWith("GIT_")));
}

const SYSTEM_TEXTS = [
  ["No space left on device", "ENOSPC"],
  ["Disk quota exceeded", "EDQUOT"],
  ["Read-only file system", "EROFS"],
  ["Permission denied", "EACCES"],
  ["insufficient permission", "EACCES"],
  ["Too many open files", "EMFILE"],
  ["Input/output error", "EIO"],
] as const;

function systemCodeIn(stderr: string): string | null {
  for (const [text, code] of SYSTEM_TEXTS) if (stderr.includes(text)) return code;
  return null;
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It ended by itself in between.
  }
}
