import { chmodSync, linkSync, lstatSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { textOfPath } from "../../src/checkpoint/path-text.ts";
import type { Pick } from "../support/generator.ts";
import { manifest, type Sandbox, write } from "../support/repos.ts";

/** A working tree that several write to in turn, with a memory of who wrote what: the judge of a reset. */

/** Names that clash as files and folders, names that rules may hide, and names that are hard to write. */
const NAMES = [
  "a.txt",
  "b.txt",
  "c.txt",
  "src/x.ts",
  "src",
  "n",
  "n/one",
  "n/two/deep",
  "été",
  'q"uo\nte',
  "keep.log",
  "data/x",
  "data/y",
  "odd\xff",
  "new.bin",
] as const;
/** Names that an ignore rule of these trees may hide from a checkpoint. */
export const HIDABLE = /(^|\/)(keep\.log|data(\/.*)?|n(\/.*)?|\.gitignore)$/u;

export interface Seen {
  readonly files: Readonly<Record<string, string>>;
  /** Entries of the index by path, with flags and stages. */
  readonly entries: Readonly<Record<string, string>>;
  readonly head: string;
  /** Branches, tags and stash, HEAD's branch left out. */
  readonly refs: string;
}

export class SharedTree {
  readonly box: Sandbox;
  readonly top: string;
  readonly #pick: Pick;
  #count = 0;

  constructor(box: Sandbox, top: string, pick: Pick) {
    this.box = box;
    this.top = top;
    this.#pick = pick;
  }

  look(): Seen {
    const entries: Record<string, string> = {};
    for (const item of this.box.git(this.top, "ls-files", "-s", "-v", "-z").split("\0")) {
      const tab = item.indexOf("\t");
      if (tab >= 0) entries[item.slice(tab + 1)] = `${entries[item.slice(tab + 1)] ?? ""}${item.slice(0, tab)};`;
    }
    const branch = this.box.tryGit(this.top, "symbolic-ref", "-q", "HEAD");
    const refs = this.box.git(
      this.top,
      "for-each-ref",
      "--format=%(refname) %(objectname)",
      "refs/heads",
      "refs/tags",
      "refs/stash",
    );
    const lines = refs.split("\n").filter((line) => branch === null || !line.startsWith(`${branch} `));
    return {
      files: Object.fromEntries(
        Object.entries(manifest(this.top)).map(([name, what]) => [textOfPath(Buffer.from(name, "latin1")), what]),
      ),
      entries,
      head: `${branch ?? "detached"} ${this.box.tryGit(this.top, "rev-parse", "-q", "--verify", "HEAD") ?? "unborn"}`,
      refs: lines.join("\n"),
    };
  }

  /** One random operation away from the given paths; gives those that it was about, for a tool call. */
  act(keepOff: ReadonlySet<string>, mayCommit: boolean): readonly string[] {
    return this.#operate(keepOff, mayCommit);
  }

  #operate(keepOff: ReadonlySet<string>, mayCommit: boolean): readonly string[] {
    const pick = this.#pick;
    const name = NAMES[pick(NAMES.length)] ?? "a.txt";
    const text = textOfPath(bytesOf(name));
    const clashes = [...keepOff].some((path) => path === text || path.startsWith(`${text}/`) || text.startsWith(`${path}/`));
    if (clashes || !isFree(this.top, name)) return [];
    const path = pathOf(this.top, name);
    const info = lstatSync(path, { throwIfNoEntry: false });
    this.#count += 1;
    const content = `${this.#count} ${pick(1000)}\n`.repeat(1 + pick(3));
    const bytes = pick(4) === 0 ? Buffer.from([0, 255, this.#count & 255, pick(256), 10, 13]) : content;
    const clear = () => rmSync(path, { recursive: true, force: true });
    const git = (...args: string[]) => this.box.tryGit(this.top, ...args);
    const latin = name.includes("\xff");
    const operations: (() => void)[] = [
      () => putBytes(path, bytes),
      () => putBytes(path, bytes),
      () => putBytes(path, bytes),
      clear,
      () => {
        clear();
        mkdirSync(parentOf(path), { recursive: true });
        symlinkSync(["b.txt", this.box.home, "nowhere"][pick(3)] ?? "b.txt", path);
      },
      () => {
        if (info?.isFile()) chmodSync(path, [0o755, 0o644, 0o600][pick(3)] ?? 0o644);
      },
      () => {
        if (info?.isFile()) linkSync(path, join(this.box.home, `hard-${basename(this.top)}-${this.#count}`));
      },
      () => {
        const to = pathOf(this.top, "moved.txt");
        if (info?.isFile() && lstatSync(to, { throwIfNoEntry: false }) === undefined && !keepOff.has("moved.txt"))
          renameSync(path, to);
      },
      () => void (latin ? null : git("add", "-f", "--", name)),
      () => void (latin ? null : git("rm", "-q", "-r", "--cached", "-f", "--", name)),
      () => {
        if (!keepOff.has(".gitignore")) write(this.top, ".gitignore", ["*.log\n", "data/\n", "", "n/\n"][pick(4)] ?? "");
      },
      () => void git("branch", `b${this.#count}`),
      () => {
        if (!latin) git("add", "-f", "--", name);
        git("commit", "-q", "-m", `step ${this.#count}`, "--", name);
      },
    ];
    const chosen = pick(mayCommit ? operations.length : operations.length - 1);
    operations[chosen]?.();
    return chosen === 10 ? [".gitignore"] : chosen === 7 ? [text, "moved.txt"] : [text];
  }
}

/** Replaces whatever is there: a file that has other names keeps its bytes under those. */
function putBytes(path: Buffer, bytes: string | Uint8Array): void {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(parentOf(path), { recursive: true });
  writeFileSync(path, bytes);
}

/** Names with bytes that are not UTF-8 are written here with one character for each byte. */
function pathOf(top: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${top}/`), bytesOf(name)]);
}

const bytesOf = (name: string): Buffer => Buffer.from(name, name.includes("\xff") ? "latin1" : "utf8");

function parentOf(path: Buffer): Buffer {
  return path.subarray(0, path.lastIndexOf(47));
}

export function differing(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((path) => a[path] !== b[path]);
}

function isFree(top: string, name: string): boolean {
  const parents = name.split("/").slice(0, -1);
  return parents.every((_, n) => {
    const info = lstatSync(join(top, ...parents.slice(0, n + 1)), { throwIfNoEntry: false });
    return info === undefined || info.isDirectory();
  });
}
