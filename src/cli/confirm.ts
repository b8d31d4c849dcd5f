import type { CallResult } from "../tools/call.ts";
import { callerOf } from "./door.ts";
import { EXIT_CODES } from "./exit-code.ts";
import { contextOf, type Session, show } from "./show.ts";
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
    const { door, command } = session;
    const answer = await door.ask(`\nType "${command.name}" to do it, anything else leaves all as it is: `);
    if (answer?.trim().toLowerCase() !== command.name) {
      door.out("Nothing was changed.");
      return EXIT_CODES.needs_confirmation.code;
    }
    result = await call(session, { ...session.args, confirm_token: token });
    const again = tokenOf(result);
    if (again === null) return show(session, result);
    token = again;
  }
  return showPreview(session, result, token);
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

/** Freeing a run's workspace has no preview and no way back: at a terminal it is asked for. True when it may go on. */
export async function mayReclaim({ door, line, args }: Session): Promise<boolean> {
  if (args["reclaim"] !== true || line.json || line.switches.yes === true || !door.canAsk) return true;
  const answer = await door.ask(
    "This frees the run's worktree and the agent's files, if all of it exists elsewhere; it cannot be resumed afterwards. Go on? [y/N] ",
  );
  if (/^y(es)?$/iu.test(answer?.trim() ?? "")) return true;
  door.out("Nothing was changed.");
  return false;
}
