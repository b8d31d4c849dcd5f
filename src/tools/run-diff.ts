import { z } from "zod";
import { fence } from "../resume/fence.ts";
import { shownName } from "../resume/shown.ts";
import { defineTool } from "./define-tool.ts";
import { changedFiles, comparison, cursorOf, type DiffEnd, PATCH_END, patchPart } from "./diff.ts";
import { jsonBytes, roomBeside } from "./fit.ts";
import { common, findRun } from "./present.ts";
import { commonShape, diffEndArgument, diffEndSchema, diffFileSchema, runIdArgument } from "./schemas.ts";
import { renderAnswer, section } from "./text.ts";

type FileView = z.output<typeof diffFileSchema>;

/** Files listed on a page at most, and the part of its room that they may take. */
const LISTED_FILES = 40;
const FILES_SHARE = 0.4;

export const diffOutput = z.object({
  ...commonShape,
  from: diffEndSchema,
  to: diffEndSchema.nullable(),
  total_files: z.number().int(),
  added: z.number().int(),
  removed: z.number().int(),
  files: z.array(diffFileSchema),
  patch: z.string(),
  next_cursor: z.string().nullable(),
});

export const runDiff = defineTool({
  name: "run_diff",
  title: "Show what a run changed",
  description:
    "Show what a run changed in files: from its base to its latest checkpoint, or between two checkpoints, base, stop and now. from: stop, to: now shows what others changed since it stopped. Paged by next_cursor, files and patch alike; path narrows it to a file or folder. Works from saved checkpoints when the worktree is gone (except now). Files over 32 MB are shown as binary; bytes that are not UTF-8 as \\xNN. Reads only.",
  effect: "read",
  idempotent: true,
  openWorld: false,
  input: z.strictObject({
    run_id: runIdArgument,
    from: diffEndArgument("The older side; default base."),
    to: diffEndArgument("The newer side; default the latest checkpoint."),
    path: z
      .string()
      .min(1)
      .optional()
      .describe("Only this file, or all in this folder, relative to the repository's top folder."),
    cursor: z.string().min(1).optional().describe("next_cursor of the last answer, with the same other arguments."),
  }),
  output: diffOutput,
  handle: async (args, { ctx }) => {
    const run = await findRun(ctx, args.run_id);
    const compared = await comparison(ctx, run, args);
    const shared = await common(ctx, run);
    const room = roomBeside(shared, 900);
    const summary = await changedFiles(ctx, compared, LISTED_FILES);
    const files = fittingFiles(summary.files, room * FILES_SHARE);
    const filesLeft = summary.total_files > compared.skip.files + files.length;
    const patch = await patchPart(ctx, compared, room - jsonBytes(files), (text) => jsonBytes(text) - 2);
    const listed = compared.skip.files + files.length;
    const done = !filesLeft && patch.next_byte === null;
    const next = done ? null : cursorOf(compared, { files: listed, bytes: patch.next_byte ?? PATCH_END });
    const { from, to, path } = args;
    const again = { run_id: run.run_id, ...(from && { from }), ...(to && { to }), ...(path && { path }) };
    return {
      ...shared,
      summary: `${summary.total_files} ${summary.total_files === 1 ? "file differs" : "files differ"} (+${summary.added} -${summary.removed}) from ${nameOf(compared.from)} to ${compared.to === null ? "now: the run has no checkpoint yet" : nameOf(compared.to)}${compared.path === null ? "" : ` within ${compared.path}`}.`,
      from: compared.from,
      to: compared.to,
      total_files: summary.total_files,
      added: summary.added,
      removed: summary.removed,
      files,
      patch: patch.text,
      next_cursor: next,
      next_actions: [
        ...(next === null
          ? []
          : [{ tool: "run_diff", args: { ...again, cursor: next }, needs: [], why: "the rest of the difference" }]),
        ...shared.next_actions.slice(0, 1),
      ],
    };
  },
  render: (answer) =>
    renderAnswer(answer, [
      section("Files", answer.files.map(fileLine)),
      answer.patch === "" ? null : fence("patch", answer.patch),
      answer.next_cursor === null ? "nothing is left of the difference" : `next_cursor: ${answer.next_cursor}`,
    ]),
});

function nameOf(one: DiffEnd): string {
  return one.checkpoint === null || one.what === "checkpoint" ? (one.checkpoint ?? one.what) : `${one.what} (${one.checkpoint})`;
}

function fittingFiles(files: readonly FileView[], room: number): FileView[] {
  let left = room;
  const over = files.findIndex((file) => {
    left -= jsonBytes(file) + 1;
    return left < 0;
  });
  return files.slice(0, over < 0 ? files.length : Math.max(1, over));
}

function fileLine(file: FileView): string {
  const counts = file.binary ? "binary" : `+${file.added ?? 0} -${file.removed ?? 0}`;
  return `${file.status} ${file.from_path === null ? "" : `${shownName(file.from_path)} -> `}${shownName(file.path)} (${counts})${file.mode === null || file.status === "added" || file.status === "deleted" ? "" : ` mode ${file.mode}`}`;
}
