import type { CallResult } from "../tools/call.ts";
import { reclaimPreviewOutput, viewReclaimPreview } from "../tools/view-reclaim-preview.ts";
import { callerOf } from "./door.ts";
import { EXIT_CODES } from "./exit-code.ts";
import { contextOf, type Session, show } from "./show.ts";
import { viewOf } from "./views.ts";
import { commandLineFor } from "./words.ts";

/** Times that a preview is shown anew because something moved while the person read it. */
const ROUNDS = 3;

/**
 * A command that takes files back: the consequences first, then the deed. At a terminal it asks; with `--yes` it goes on at once;
 * anywhere else it ends after the preview with the token and exit code 3.
 */
export async function confirmed(session: Session): Promise<number> {
  const { door, line, args } = session;
  const preview = await call(session, args);
  const token = tokenOf(preview);
  if (token === null) return show(session, preview);
  if (line.switches.yes === true) return allAtOnce(session, preview, token);
  // A given token that was not taken means that something moved: its owner has to look again, whoever it is.
  if (line.json || !door.canAsk || args["confirm_token"] !== undefined) return showPreview(session, preview, token);
  return asked(session, preview, token);
}

/** With `--yes` an earlier token is of no more use: a fresh preview is confirmed unless something moves in between. */
async function allAtOnce(session: Session, preview: CallResult, token: string): Promise<number> {
  if (!session.line.json) show(session, preview);
  const result = await call(session, { ...session.args, confirm_token: token });
  const again = tokenOf(result);
  if (again !== null) return showPreview(session, result, again);
  if (!session.line.json) session.door.out("");
  return show(session, result);
}

async function asked(session: Session, first: CallResult, firstToken: string): Promise<number> {
  let [result, token] = [first, firstToken];
  for (let round = 0; round < ROUNDS; round += 1) {
    show(session, result);
    if (!(await agreed(session, "do it"))) return EXIT_CODES.needs_confirmation.code;
    result = await call(session, { ...session.args, confirm_token: token });
    const again = tokenOf(result);
    if (again === null) return show(session, result);
    token = again;
  }
  return showPreview(session, result, token);
}

/** The person types the command's own word: what takes something away is not done by a key pressed too soon. */
async function agreed({ door, command }: Session, to: string): Promise<boolean> {
  const answer = await door.ask(`\nType "${command.name}" to ${to}, anything else leaves all as it is: `);
  if (answer?.trim().toLowerCase() === command.name) return true;
  door.out("Nothing was changed.");
  return false;
}

/**
 * `archive --reclaim` at a terminal: what would go and stay first, then the deed on the very revision that was shown. What has to
 * stay as a whole is archived and not freed.
 */
export async function reclaimed(session: Session): Promise<number> {
  const { door, args } = session;
  for (let round = 0; ; round += 1) {
    const looked = await door.call(viewReclaimPreview, { run_id: args["run_id"] }, callerOf(door));
    if (!looked.ok) return show(session, looked);
    const { frees, archived, revision } = reclaimPreviewOutput.parse(looked.structured);
    door.out(viewOf(viewReclaimPreview.name, looked.structured, contextOf(door)) ?? looked.text);
    if (frees === false && archived) return EXIT_CODES.ok.code;
    const to = frees === false ? "archive it without freeing anything" : "do it";
    if (session.line.switches.yes !== true && !(await agreed(session, to))) return EXIT_CODES.needs_confirmation.code;
    const result = await call(session, { expected_revision: revision, ...args, reclaim: frees !== false });
    const moved = !result.ok && result.code === "revision_conflict" && args["expected_revision"] === undefined;
    if (!moved || round + 1 >= ROUNDS) {
      door.out("");
      return show(session, result);
    }
    door.out("\nThe run moved meanwhile, and nothing was changed. This is how it is now.\n");
  }
}

function showPreview(session: Session, preview: CallResult, token: string): number {
  const code = show(session, preview);
  if (session.line.json) return code;
  const { command, args, door } = session;
  const { commands, paint } = contextOf(door);
  const line = commandLineFor(commands, command.tool.name, { ...args, confirm_token: token });
  const expires = preview.ok && typeof preview.structured["expires_at"] === "string" ? preview.structured["expires_at"] : "";
  door.out(
    `\nNothing was changed. To do exactly this (until ${expires}):\n  ${paint.accent(line ?? "")}\nor see it again and do it: the same with --yes instead.`,
  );
  return code;
}

function tokenOf(result: CallResult): string | null {
  if (!result.ok || result.structured["needs_confirmation"] !== true) return null;
  const token = result.structured["confirm_token"];
  return typeof token === "string" ? token : null;
}

function call({ door, command }: Session, args: Readonly<Record<string, unknown>>): Promise<CallResult> {
  return door.call(command.tool, args, callerOf(door));
}
