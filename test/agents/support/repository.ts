import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A git repository with one commit. */
export function makeRepository(path: string): string {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "README.md"), "base\n");
  git(path, "init", "-q", "-b", "main");
  git(path, "config", "user.email", "owner@example.org");
  git(path, "config", "user.name", "Owner");
  git(path, "add", ".");
  git(path, "commit", "-qm", "base");
  return path;
}

export function git(cwd: string, ...args: readonly string[]): string {
  return execFileSync("git", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
