import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { LoopkeeperError } from "../run/errors.ts";
import type { Repository } from "./checkpoint.ts";
import type { Git, GitOutput } from "./git.ts";
import { findGitDir } from "./git-dir.ts";
import { LIMITS, type Limits } from "./limits.ts";
import { splitNul } from "./path-text.ts";

export interface RepoCall {
  readonly index?: string;
  readonly input?: Buffer | string;
  readonly ok?: readonly number[];
  readonly config?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly skip_bytes?: number;
  readonly max_bytes?: number;
  readonly on_output?: (chunk: Buffer) => void;
}

/** Git bound to one working tree, with the repository's own filter programs turned off. */
export interface RepoGit {
  readonly repo: Repository;
  /** Folder of our own state inside the working tree's git directory. */
  readonly private_dir: string;
  readonly autocrlf: boolean;
  /** The user's file of ignore rules, whether it is there or not. */
  readonly excludes_file: string;
  readonly user: { readonly name: string; readonly email: string } | null;
  readonly limits: Limits;
  /** Git bound to another working tree, e.g. a nested one, with that one's own configuration made harmless. */
  open(repo: Repository): Promise<RepoGit>;
  run(args: readonly string[], call?: RepoCall): Promise<GitOutput>;
}

/** The configuration is read anew for every operation: an agent may have changed it since the last one. */
export async function openRepoGit(
  git: Git,
  repo: Repository,
  user: { readonly home: string; readonly env: Readonly<Record<string, string>>; readonly limits?: Limits },
): Promise<RepoGit> {
  await assertPinned(repo);
  const env = { GIT_DIR: repo.git_dir, GIT_WORK_TREE: repo.top };
  const listed = await git(["config", "--show-scope", "-z", "--get-regexp", "^(filter|lfs|core|user)\\."], {
    cwd: repo.top,
    env,
    ok: [0, 1],
  });
  const settings = parseSettings(listed.bytes);
  const off = filtersOff(settings);
  const last = (key: string) => settings.findLast((setting) => setting.key === key)?.value ?? null;
  const name = last("user.name");
  const email = last("user.email");
  return {
    repo,
    private_dir: join(repo.git_dir, "loopkeeper"),
    autocrlf: !["false", "no", "off", "0", null].includes(last("core.autocrlf")),
    excludes_file:
      last("core.excludesfile")?.replace(/^~(?=\/)/, user.env["HOME"] ?? user.home) ??
      join(user.env["XDG_CONFIG_HOME"] ?? join(user.env["HOME"] ?? user.home, ".config"), "git", "ignore"),
    user: name && email ? { name, email } : null,
    limits: user.limits ?? LIMITS,
    open: (other) => openRepoGit(git, other, user),
    run: (args, { index, ...call } = {}) =>
      git(args, {
        ...call,
        cwd: repo.top,
        config: [...off, ...(call.config ?? [])],
        env: { ...env, ...(index === undefined ? {} : { GIT_INDEX_FILE: index }), ...call.env },
      }),
  };
}

/** A path as git takes it in a list of paths, whatever it holds. */
export function quotedPath(path: string): string {
  return `"${path.replace(/["\\]/g, "\\$&")}"`;
}

/** A working tree whose `.git` was pointed elsewhere since we looked must not be written to. */
async function assertPinned(repo: Repository): Promise<void> {
  const found = await findGitDir(repo.top);
  if (found === null || found !== (await realpath(repo.git_dir).catch(() => null))) {
    throw new LoopkeeperError(
      "repository_problem",
      `${repo.top} is no longer the working tree of ${repo.git_dir}. Look at the repository again.`,
    );
  }
}

interface Setting {
  readonly scope: string;
  readonly key: string;
  readonly value: string;
}

function parseSettings(bytes: Buffer): Setting[] {
  const items = splitNul(bytes).map((item) => item.toString("utf8"));
  const settings: Setting[] = [];
  for (let at = 0; at + 1 < items.length; at += 2) {
    const entry = items[at + 1] ?? "";
    const end = entry.indexOf("\n");
    settings.push({
      scope: items[at] ?? "",
      key: end < 0 ? entry : entry.slice(0, end),
      value: end < 0 ? "true" : entry.slice(end + 1),
    });
  }
  return settings;
}

const LFS_COMMAND = /^git-lfs (clean|smudge|filter-process)( --skip)?( -- %f)?$/;

/** `-c` settings that turn off each filter whose program comes from the repository itself, except plain git-lfs. */
function filtersOff(settings: readonly Setting[]): string[] {
  const own = settings.filter(
    (setting) => setting.scope !== "system" && setting.scope !== "global" && setting.scope !== "command",
  );
  const drivers = new Set<string>();
  for (const { key, value } of own) {
    const driver = /^(filter\..+)\.(clean|smudge|process)$/.exec(key)?.[1];
    if (driver !== undefined && !LFS_COMMAND.test(value)) drivers.add(driver);
    // git-lfs itself starts programs that these settings name.
    if (/^lfs\.(.*\.)?(extension|customtransfer|standalonetransferagent)/.test(key)) drivers.add("filter.lfs");
  }
  return [...drivers].flatMap((driver) => [
    `${driver}.clean=`,
    `${driver}.smudge=`,
    `${driver}.process=`,
    `${driver}.required=false`,
  ]);
}
