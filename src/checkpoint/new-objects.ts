import { createHash, type Hash } from "node:crypto";
import { deflateSync } from "node:zlib";
import type { RepoGit } from "./repo-git.ts";

const KINDS = { commit: 1, tree: 2, blob: 3 } as const;

interface NewObject {
  readonly kind: keyof typeof KINDS;
  readonly bytes: Buffer;
}

/** A commit's date in git's own form: `<seconds> +0000`. */
export type GitDate = string;

export interface NewObjects {
  blob(bytes: Buffer | string): string;
  /** Entries that name an object each; in any order. */
  tree(entries: readonly { readonly name: string; readonly oid: string; readonly is_tree: boolean }[]): string;
  commit(commit: {
    readonly tree: string;
    readonly parents: readonly string[];
    readonly message: string;
    readonly date: GitDate;
  }): string;
  /** Writes all of them. Until then the ids name nothing. */
  write(): Promise<void>;
}

const WHO = "Loopkeeper <loopkeeper@localhost>";

/**
 * Objects of ours, made here and written by one git process: it takes them as a pack, which it unpacks. Each would be a process
 * else. Ids are known at once, so that one can name another.
 */
export function newObjects(git: RepoGit): NewObjects {
  const objects = new Map<string, NewObject>();
  const add = (object: NewObject): string => {
    const oid = hashOf(git).update(`${object.kind} ${object.bytes.length}\0`).update(object.bytes).digest("hex");
    objects.set(oid, object);
    return oid;
  };
  return {
    blob: (bytes) => add({ kind: "blob", bytes: Buffer.from(bytes) }),
    tree: (entries) => {
      const sorted = entries.map((entry) => ({ ...entry, key: Buffer.from(entry.is_tree ? `${entry.name}/` : entry.name) }));
      sorted.sort((a, b) => Buffer.compare(a.key, b.key));
      const lines = sorted.flatMap(({ name, oid, is_tree }) => [
        Buffer.from(`${is_tree ? "40000" : "100644"} ${name}\0`),
        Buffer.from(oid, "hex"),
      ]);
      return add({ kind: "tree", bytes: Buffer.concat(lines) });
    },
    commit: ({ tree, parents, message, date }) => {
      const lines = [
        `tree ${tree}`,
        ...[...new Set(parents)].map((parent) => `parent ${parent}`),
        `author ${WHO} ${date}`,
        `committer ${WHO} ${date}`,
        "",
        message,
      ];
      return add({ kind: "commit", bytes: Buffer.from(lines.join("\n")) });
    },
    write: async () => {
      await git.run(["unpack-objects", "-q"], { input: packOf([...objects.values()], hashOf(git)) });
    },
  };
}

function hashOf(git: RepoGit): Hash {
  return createHash(git.repo.object_format);
}

/** Git's pack format, version 2, without deltas. */
function packOf(objects: readonly NewObject[], hash: Hash): Buffer {
  const head = Buffer.alloc(12);
  head.write("PACK", "latin1");
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(objects.length, 8);
  const pieces = [head, ...objects.flatMap(({ kind, bytes }) => [entryHeader(KINDS[kind], bytes.length), deflateSync(bytes)])];
  const pack = Buffer.concat(pieces);
  return Buffer.concat([pack, hash.update(pack).digest()]);
}

/** Kind and size: four bits of the size in the first byte, seven in each that follows. */
function entryHeader(kind: number, size: number): Buffer {
  const bytes: number[] = [];
  let byte = (kind << 4) | (size & 15);
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.push(byte | 0x80);
    byte = rest & 0x7f;
  }
  bytes.push(byte);
  return Buffer.from(bytes);
}
