import { z } from "zod";
import type { Drive } from "./drive.ts";

const callSchema = z.looseObject({
  title: z.string(),
  command: z.string().nullable(),
  raw_input: z
    .looseObject({ run_in_background: z.boolean().optional(), background: z.boolean().optional() })
    .optional()
    .catch(undefined),
});

/** A single `&` at the end of a command or of a part of it, or a word that takes a process out of its shell. */
const IN_BACKGROUND = /(?<![&>|<])&(?![&>\d])\s*(?:[)};]|$)|\b(?:nohup|setsid|disown|daemonize)\b/mu;

/** Journal entries that are looked through, newest first. */
const READ_ENTRIES = 1_000;
const LISTED = 10;

/**
 * Commands of the run that left something running in the background. Stopping ended it, and their tool calls had ended
 * long before, so that an engine would believe that its server still runs.
 */
export async function backgroundCommands(drive: Drive): Promise<readonly string[]> {
  const { entries } = await drive.ctx.store.journal(drive.run.run_id, { limit: READ_ENTRIES });
  // What an earlier stop ended was told then.
  const since = drive.run.stop?.at ?? "";
  const found = entries.flatMap((entry) => {
    if (entry.at <= since) return [];
    const call = entry.kind === "tool_call" ? callSchema.safeParse(entry.data) : null;
    if (call === null || !call.success) return [];
    const { title, command, raw_input } = call.data;
    const background = raw_input?.run_in_background === true || raw_input?.background === true;
    return background || IN_BACKGROUND.test(command ?? "") ? [command ?? title] : [];
  });
  return [...new Set(found.toReversed())].slice(0, LISTED);
}
