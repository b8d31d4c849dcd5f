import { z } from "zod";
import { defineView } from "./define-view.ts";
import { comparison, cursorOf, patchPart } from "./diff.ts";
import { findRun } from "./present.ts";
import { diffEndArgument, runIdArgument } from "./schemas.ts";

/** Characters of a patch in one answer. */
const CHARACTERS = 200_000;

const output = z.object({ path: z.string(), patch: z.string(), next_cursor: z.string().nullable() });
export type PatchPart = z.output<typeof output>;

export const viewPatch = defineView({
  name: "patch",
  title: "Patch of one file",
  description: "The unified diff of one file between two states of a run's files, a part at a time.",
  input: z.strictObject({
    run_id: runIdArgument,
    path: z.string().min(1).describe("The file, relative to the repository's top folder."),
    from_path: z.string().min(1).optional().describe("What a renamed file was called on the older side, as changes says it."),
    from: diffEndArgument("The older side; default base."),
    to: diffEndArgument("The newer side; default the latest checkpoint."),
    cursor: z.string().min(1).optional().describe("next_cursor of the last answer, or cursor of changes."),
  }),
  output,
  read: async ({ run_id, path, ...query }, ctx) => {
    const run = await findRun(ctx, run_id);
    const compared = await comparison(ctx, run, { ...query, path });
    const part = await patchPart(ctx, compared, CHARACTERS, (text) => text.length);
    const next = part.next_byte === null ? null : cursorOf(compared, { files: 0, bytes: part.next_byte });
    return { path, patch: part.text, next_cursor: next };
  },
});
