import { execFileSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { sha256 } from "../../src/run/id.ts";

/** Real git repositories in temp folders, with an empty home of their own: no setting of this machine plays a part. */
export interface Sandbox {
  /** Real path of the folder that holds everything. */
  readonly dir: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  /** Runs plain git as a user would, and gives its output without the last line end. */
  git(cwd: string, ...args: string[]): string;
  /** As `git`; null when it fails. */
  tryGit(cwd: string, ...args: string[]): string | null;
  sh(cwd: string, script: string): string;
  /** A repository with six files of 20 lines and `src/x.ts`, committed on `main`. */
  repo(name?: string, options?: { readonly commit?: boolean; readonly init?: readonly string[] }): string;
  remove(): void;
}

export function makeSandbox(): Sandbox {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "lk-git-")));
  const home = join(dir, "home");
  mkdirSync(home);
  writeFileSync(
    join(home, ".gitconfig"),
    '[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n',
  );
  const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: home, LC_ALL: "C", GIT_CONFIG_NOSYSTEM: "1" };
  const run = (cwd: string, file: string, args: readonly string[]) =>
    execFileSync(file, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8", maxBuffer: 2 ** 28 }).replace(
      /\n$/,
      "",
    );
  const git = (cwd: string, ...args: string[]) => run(cwd, "git", args);
  const tryGit = (cwd: string, ...args: string[]) => {
    try {
      return git(cwd, ...args);
    } catch {
      return null;
    }
  };
  return {
    dir,
    home,
    env,
    git,
    tryGit,
    sh: (cwd, script) => run(cwd, "sh", ["-ec", script]),
    repo: (name = "repo", options = {}) => {
      const top = join(dir, name);
      mkdirSync(top, { recursive: true });
      git(top, "init", "-q", ...(options.init ?? []));
      if (options.commit === false) return top;
      for (const letter of "abcdef") write(top, `${letter}.txt`, `${letter}\n`.repeat(20));
      write(top, "src/x.ts", "x\n");
      git(top, "add", ".");
      git(top, "commit", "-qm", "base");
      return top;
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

export function write(top: string, path: string, content: string | Uint8Array, mode?: number): void {
  mkdirSync(dirname(join(top, path)), { recursive: true });
  writeFileSync(join(top, path), content);
  if (mode !== undefined) chmodSync(join(top, path), mode);
}

export function read(top: string, path: string): string | null {
  try {
    return readFileSync(join(top, path), "utf8");
  } catch {
    return null;
  }
}

/** Every file of a tree (ignored ones too, `.git` not) by byte name, as kind, permission bits and content hash. */
export function manifest(top: string, folder = Buffer.from(top), prefix = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder, { encoding: "buffer" })) {
    const text = `${prefix}${name.toString("latin1")}`;
    if (name.toString() === ".git") continue;
    const path = Buffer.concat([folder, Buffer.from("/"), name]);
    const info = lstatSync(path);
    if (info.isDirectory()) Object.assign(found, manifest(top, path, `${text}/`));
    else if (info.isSymbolicLink()) found[text] = `link ${readlinkSync(path)}`;
    else if (info.isFile()) found[text] = `file ${(info.mode & 0o7777).toString(8)} ${sha256(readFileSync(path))}`;
    else found[text] = "special";
  }
  return found;
}

/** Everything of the user's that a capture must leave alone: index bytes and time, HEAD, refs, reflogs, stash. */
export function untouchables(box: Sandbox, top: string): Record<string, string> {
  const gitDir = box.git(top, "rev-parse", "--absolute-git-dir");
  const common = realpathSync(resolve(top, box.git(top, "rev-parse", "--git-common-dir")));
  const index = join(gitDir, "index");
  const facts: Record<string, string> = {
    head: readFileSync(join(gitDir, "HEAD"), "utf8"),
    refs: box.git(
      top,
      "for-each-ref",
      "--format=%(refname) %(objectname)",
      "refs/heads",
      "refs/tags",
      "refs/remotes",
      "refs/stash",
    ),
    config: readFileSync(join(common, "config"), "utf8"),
  };
  try {
    facts["index"] = `${sha256(readFileSync(index))} ${statSync(index, { bigint: true }).mtimeNs}`;
  } catch {
    facts["index"] = "none";
  }
  for (const dir of new Set([gitDir, common])) Object.assign(facts, logsOf(join(dir, "logs")));
  return facts;
}

function logsOf(dir: string): Record<string, string> {
  const found: Record<string, string> = {};
  let names: string[] = [];
  try {
    names = readdirSync(dir);
  } catch {
    return found;
  }
  for (const name of names) {
    const path = join(dir, name);
    if (statSync(path).isDirectory()) Object.assign(found, logsOf(path));
    else found[path] = sha256(readFileSync(path));
  }
  return found;
}
