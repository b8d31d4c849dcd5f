import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { LoopkeeperError } from "../run/errors.ts";
import type { Repository } from "./checkpoint.ts";
import type { Git, GitOutput } from "./git.ts";
import type { GitConfig, ReadConfig, Setting } from "./git-config.ts";
import { findGitDir } from "./git-dir.ts";
import { LIMITS, type Limits } from "./limits.ts";

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
  readonly config: GitConfig;
  readonly autocrlf: boolean;
  /** The user's file of ignore rules, whether it is there or not. */
  readonly excludes_file: string;
  readonly user: { readonly name: string; readonly email: string } | null;
  readonly limits: Limits;
  /** Git bound to another working tree, e.g. a nested one, with that one's own configuration made harmless. */
  open(repo: Repository): Promise<RepoGit>;
  run(args: readonly string[], call?: RepoCall): Promise<GitOutput>;
}

/** The configuration counts as it is at the beginning of every operation: an agent may have changed it since the last one. */
export async function openRepoGit(
  git: Git,
  readConfig: ReadConfig,
  repo: Repository,
  user: { readonly home: string; readonly env: Readonly<Record<string, string>>; readonly limits?: Limits },
): Promise<RepoGit> {
  await assertPinned(repo);
  const env = { GIT_DIR: repo.git_dir, GIT_WORK_TREE: repo.top };
  const config = await readConfig(repo);
  const { last } = config;
  const off = filtersOff(config.settings);
  const name = last("user.name");
  const email = last("user.email");
  return {
    repo,
    private_dir: join(repo.git_dir, "loopkeeper"),
    config,
    autocrlf: !["false", "no", "off", "0", null].includes(last("core.autocrlf")),
    excludes_file:
      last("core.excludesfile")?.replace(/^~(?=\/)/, user.env["HOME"] ?? user.home) ??
      join(user.env["XDG_CONFIG_HOME"] ?? join(user.env["HOME"] ?? user.home, ".config"), "git", "ignore"),
    user: name && email ? { name, email } : null,
    limits: user.limits ?? LIMITS,
    open: (other) => openRepoGit(git, readConfig, other, user),
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

const LFS_COMMAND = /^git-lfs (clean|smudge|filter-process)( --skip)?( -- %f)?$/;

/** `-c` settings that turn off each filter whose program comes from the repository itself, except plain git-lfs. */
function filtersOff(settings: readonly Setting[]): string[] {
  const own = settings.filter((setting) => setting.scope !== "system" && setting.scope !== "global");
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
