import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { Config } from "../config.ts";
import { outputOf } from "../engine/process.ts";
import { systemCode } from "../run/errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

/** Node, git, and the folder that everything is kept in. */

const GB = 2 ** 30;

export function checkNode(): Finding {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 12)
    ? ok("node", node)
    : problem("node", node, "Loopkeeper needs Node 22.12 or newer.");
}

/** `git worktree repair`, `--path-format` and `ls-remote --symref` are used; 2.31 has all of them. */
const LEAST_GIT = [2, 31] as const;

export async function checkGit(config: Config): Promise<Finding> {
  const output = await outputOf({ command: "git", args: ["--version"], cwd: "/", env: config.env, timeoutMs: 10_000 });
  if (output === null) return problem("git", "not found on PATH", "Install git 2.31 or newer, and have it on PATH.");
  const version = /(\d+)\.(\d+)\S*/u.exec(output.toString());
  const [major, minor] = [Number(version?.[1] ?? 0), Number(version?.[2] ?? 0)];
  const [leastMajor, leastMinor] = LEAST_GIT;
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
    ? ok("git", version?.[0] ?? "")
    : warning(
        "git",
        `${major}.${minor}`,
        `Versions before ${leastMajor}.${leastMinor} lack commands that worktrees are repaired with: install a newer one.`,
      );
}

export async function checkHome({ home }: Config): Promise<Finding> {
  try {
    const info = await stat(home);
    if (!info.isDirectory()) return problem("home", `${home} is no folder`, "Set LOOPKEEPER_HOME to a folder.");
    await access(home, constants.R_OK | constants.W_OK | constants.X_OK);
    return (info.mode & 0o077) === 0
      ? ok("home", home)
      : warning("home", `${home} can be entered by others (mode ${(info.mode & 0o777).toString(8)})`, `chmod 700 '${home}'`);
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT") return homeToBe(home);
    return problem(
      "home",
      `${home} cannot be used (${code ?? "unknown"})`,
      "Make it readable and writable for you, or set LOOPKEEPER_HOME to another folder.",
    );
  }
}

async function homeToBe(home: string): Promise<Finding> {
  const above = await nearestThere(home);
  const usable = await access(above, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (usable) return ok("home", `${home} (not there yet: it is made at the first use)`);
  return problem(
    "home",
    `${home} is not there and cannot be made: you may not write in ${above}`,
    `Make it yours (sudo mkdir -p '${home}' && sudo chown "$USER" '${home}'), or set LOOPKEEPER_HOME to a folder of yours.`,
  );
}

/** The path, or what of it is there. */
async function nearestThere(path: string): Promise<string> {
  const there = await stat(path).then(
    () => true,
    () => false,
  );
  return there || path === dirname(path) ? path : nearestThere(dirname(path));
}

export async function checkDisk({ home }: Config): Promise<Finding> {
  const space = await statfs(await nearestThere(home)).catch(() => null);
  if (space === null)
    return warning("disk", "its free space is not known", "Look with df whether there is room for worktrees and checkpoints.");
  const free = space.bavail * space.bsize;
  const text = `${(free / GB).toFixed(1)} GB free`;
  if (free < 0.2 * GB) return problem("disk", text, "Free space: runs stop as `storage` when their work cannot be recorded.");
  return free < 2 * GB
    ? warning(
        "disk",
        text,
        "Free space soon: every run has a worktree. `loopkeeper archive RUN --reclaim` frees those of finished ones.",
      )
    : ok("disk", text);
}
