import type { z } from "zod";
import type { diffOutput } from "../tools/run-diff.ts";
import { cutTo, padTo, widthOf } from "./layout.ts";
import type { ViewContext } from "./view.ts";

type Diff = z.output<typeof diffOutput>;
type File = Diff["files"][number];

/** The files with their counts, as `git diff --stat` lists them. */
export function statLines(summary: string, files: readonly File[], ctx: ViewContext): readonly string[] {
  const names = files.map((file) => (file.from_path === null ? file.path : `${file.from_path} -> ${file.path}`));
  const room = ctx.screen.columns === null ? Number.POSITIVE_INFINITY : Math.max(12, ctx.screen.columns - 26);
  const width = Math.min(room, Math.max(0, ...names.map(widthOf)));
  return [
    ctx.paint.strong(summary),
    ...files.map((file, index) => {
      const counts = file.binary
        ? "binary"
        : `${ctx.paint.good(`+${file.added ?? 0}`)} ${ctx.paint.bad(`-${file.removed ?? 0}`)}`;
      return `  ${padTo(cutTo(names[index] ?? "", width), width)}  ${file.status.padEnd(8)} ${counts}`;
    }),
  ];
}

/** A patch with its signs coloured. Nothing is wrapped or cut: it may be copied. */
export function patchLines(patch: string, ctx: ViewContext): readonly string[] {
  if (patch === "") return [];
  const { paint } = ctx;
  let header = true;
  return patch
    .replace(/\n$/u, "")
    .split("\n")
    .map((line) => {
      if (line.startsWith("diff --git ")) header = true;
      if (line.startsWith("@@")) {
        header = false;
        return paint.accent(line);
      }
      if (header) return paint.strong(line);
      if (line.startsWith("+")) return paint.good(line);
      return line.startsWith("-") ? paint.bad(line) : line;
    });
}
