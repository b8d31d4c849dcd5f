import { isUtf8 } from "node:buffer";
import { LoopkeeperError } from "../run/errors.ts";
import { tool } from "../run/names.ts";
import { said } from "../run/said.ts";
import { GitFailure } from "./git.ts";
import { bytesOfPath } from "./path-text.ts";
import type { RepoGit } from "./repo-git.ts";

/** Nothing that the repository names is run for a difference, and its size on our side is bounded whatever is in it. */
const SAFE = [
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--ignore-submodules=none",
  "--submodule=short",
  "--src-prefix=a/",
  "--dst-prefix=b/",
  "-l1000",
] as const;

/** A larger file is told as binary: git holds both sides and their lines in memory to compare them. */
const CONFIG = ["core.bigFileThreshold=32m"] as const;

export interface DiffRange {
  readonly from: string;
  readonly to: string;
  /** A file, or a folder with all that is in it, as text path; null for everything. */
  readonly path: string | null;
  /** The name that a renamed `path` had: without it beside the new one git sees a new file. */
  readonly from_path?: string | null;
}

interface DiffCall {
  readonly skip_bytes?: number;
  readonly max_bytes?: number;
  readonly on_output?: (chunk: Buffer) => void;
}

/** Runs `git diff-tree` over a range. A side whose objects are gone is a `repository_problem`. */
export async function runDiff(git: RepoGit, range: DiffRange, args: readonly string[], call: DiffCall): Promise<Buffer> {
  const only = pathspecs([range.path, range.from_path ?? null].filter((path) => path !== null));
  try {
    const output = await git.run(["diff-tree", "-r", "-M", ...args, ...SAFE, range.from, range.to, ...only.args], {
      ...call,
      config: CONFIG,
      ...(only.wild ? { env: { GIT_LITERAL_PATHSPECS: "0" } } : {}),
    });
    return output.bytes;
  } catch (error) {
    if (!(error instanceof GitFailure) || error.code !== null) throw error;
    throw new LoopkeeperError(
      "repository_problem",
      said`git in ${git.repo.top} cannot compare ${range.from.slice(0, 12)} with ${range.to.slice(0, 12)}: objects of them are no longer there (a clean-up of the repository took them). ${tool("run_explain_stop")} lists the checkpoints that are still present.`,
    );
  }
}

/** A name that is not UTF-8 cannot be an argument of a process: each such byte is matched by a pattern instead. */
function pathspecs(paths: readonly string[]): { readonly args: readonly string[]; readonly wild: boolean } {
  if (paths.length === 0) return { args: [], wild: false };
  const names = paths.map(bytesOfPath);
  if (names.every((bytes) => isUtf8(bytes)))
    return { args: ["--", ...names.map((bytes) => bytes.toString("utf8"))], wild: false };
  const patterns = names.map((bytes) => [...bytes].map(patternOf).join(""));
  return { args: ["--", ...patterns.flatMap((pattern) => [pattern, `${pattern}/*`])], wild: true };
}

function patternOf(byte: number): string {
  if (byte >= 0x80) return "[!\u0001-\u007f]";
  const character = String.fromCharCode(byte);
  return /[*?[\]\\]/.test(character) ? `\\${character}` : character;
}
