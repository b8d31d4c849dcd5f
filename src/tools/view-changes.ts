import { z } from "zod";
import { ownersOf } from "../resume/owners.ts";
import { loadOwned } from "../resume/ownership.ts";
import { defineView } from "./define-view.ts";
import { changedFiles, comparison, cursorOf } from "./diff.ts";
import { findRun } from "./present.ts";
import { diffEndArgument, diffEndSchema, diffFileSchema, runIdArgument } from "./schemas.ts";

const MOST = 500;

const output = z.object({
  from: diffEndSchema,
  /** Null while the run has no checkpoint yet. */
  to: diffEndSchema.nullable(),
  total_files: z.number().int(),
  added: z.number().int(),
  removed: z.number().int(),
  files: z.array(
    diffFileSchema.extend({
      /** Who left it as it is on the newer side. */
      owner: z.enum(["this_run", "other_run", "unattributed"]),
    }),
  ),
  /** Reads the next files, and any file's patch, of the very two trees that were compared here. */
  cursor: z.string(),
  more: z.boolean(),
});
export type ChangeList = z.output<typeof output>;

export const viewChanges = defineView({
  name: "changes",
  title: "Files that differ",
  description: "Files that differ between two states of a run's files, each with who left it so; their patches by patch.",
  input: z.strictObject({
    run_id: runIdArgument,
    from: diffEndArgument("The older side; default base."),
    to: diffEndArgument("The newer side; default the latest checkpoint."),
    cursor: z.string().min(1).optional().describe("cursor of the last answer, with the same other arguments."),
    limit: z.number().int().min(1).max(MOST).optional().describe(`Files at most, 1 to ${MOST}; default 200.`),
  }),
  output,
  read: async ({ run_id, limit = 200, ...query }, ctx) => {
    const run = await findRun(ctx, run_id);
    const compared = await comparison(ctx, run, query);
    const summary = await changedFiles(ctx, compared, limit);
    const listed = compared.skip.files + summary.files.length;
    const owners =
      compared.to === null || summary.files.length === 0
        ? null
        : await ownersOf(ctx, {
            run,
            repo: compared.repo,
            tree: compared.to.object,
            owned: (await loadOwned(ctx.store, run_id)).files,
            paths: summary.files.map((file) => file.path),
          });
    return {
      from: compared.from,
      to: compared.to,
      total_files: summary.total_files,
      added: summary.added,
      removed: summary.removed,
      files: summary.files.map((file) => ({ ...file, owner: owners?.get(file.path)?.kind ?? "unattributed" })),
      cursor: cursorOf(compared, { files: listed, bytes: 0 }),
      more: listed < summary.total_files,
    };
  },
});
