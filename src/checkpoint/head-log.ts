import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isoOf } from "../run/clock.ts";
import type { HeadEvent } from "./drift-shapes.ts";
import type { RepoGit } from "./repo-git.ts";

const MAX_EVENTS = 6;

/** What moved HEAD of this working tree since the stop and who did it, from its reflog; empty when it keeps none. */
export async function headLogSince(
  git: RepoGit,
  input: { readonly stopped_ms: number; readonly checkpoint: { readonly head: string | null } },
): Promise<readonly HeadEvent[]> {
  const text = await readFile(join(git.repo.git_dir, "logs", "HEAD"), "utf8").catch(() => "");
  const lines = text.split("\n").flatMap((line) => {
    const parts = /^[0-9a-f]+ ([0-9a-f]+) (.*) <[^>]*> (\d+) [+-]\d+\t(.*)$/.exec(line);
    if (parts === null) return [];
    const [, to = "", who = "", seconds = "0", what = ""] = parts;
    return [{ to, who, what, ms: Number(seconds) * 1000 }];
  });
  // Times are whole seconds: the last line that led to the stop's HEAD divides what was before from what came after.
  const last = lines.findLastIndex((line) => line.ms <= input.stopped_ms && line.to === input.checkpoint.head);
  const later = last < 0 ? lines.filter((line) => line.ms > input.stopped_ms) : lines.slice(last + 1);
  return later.slice(-MAX_EVENTS).map(({ who, what, ms }) => ({ who, what, at: isoOf(ms) }));
}
