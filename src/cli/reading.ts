import { sleep } from "../run/clock.ts";
import type { CallResult } from "../tools/call.ts";
import { diffOutput } from "../tools/run-diff.ts";
import { transcriptOutput } from "../tools/run-transcript.ts";
import { callerOf } from "./door.ts";
import { patchLines, statLines } from "./render-diff.ts";
import { entryLines, renderTranscript } from "./render-transcript.ts";
import { contextOf, type Session, show } from "./show.ts";
import { spelledOut } from "./spell-out.ts";

/** Commands that read a record which may be many pages long. */

const FOLLOW_MS = 700;
/** Pages that are put together for one look; beyond them the way on is named. */
const MOST_PAGES = 2_000;

/** `loopkeeper diff`: all pages of the difference, through the pager at a terminal. With `--json` or `--cursor`: the one page. */
export async function readDiff(session: Session): Promise<number> {
  const { door, command, args, line } = session;
  const first = await door.call(command.tool, args, callerOf(door));
  if (line.json || args["cursor"] !== undefined || !first.ok) return show(session, first);
  const ctx = contextOf(door);
  const pages = [];
  let result: CallResult = first;
  while (result.ok) {
    const page = diffOutput.safeParse(spelledOut(result.structured));
    if (!page.success) return show(session, first);
    pages.push(page.data);
    if (page.data.next_cursor === null || pages.length === MOST_PAGES || door.signal.aborted) break;
    result = await door.call(command.tool, { ...args, cursor: page.data.next_cursor }, callerOf(door));
    if (!result.ok) return show(session, result);
  }
  const files = pages.flatMap((page) => page.files);
  const patch = pages.map((page) => page.patch).join("");
  const left = pages.at(-1)?.next_cursor ?? null;
  const text = [
    ...statLines(pages[0]?.summary ?? "", files, ctx),
    ...(patch === "" ? [] : ["", ...patchLines(patch, ctx)]),
    ...(left === null ? [] : ["", `More: the same with --cursor ${left}`]),
  ].join("\n");
  return shown(session, text);
}

/** `loopkeeper transcript`: the newest page, all of it (`--all`), or what comes while a run works (`--follow`). */
export async function readTranscript(session: Session): Promise<number> {
  const { line } = session;
  if (line.json) return show(session, await page(session, session.args));
  if (line.switches.follow === true) return follow(session);
  const style = { full: line.switches.full === true };
  if (line.switches.all !== true) {
    const result = await page(session, session.args);
    const read = result.ok ? transcriptOutput.safeParse(spelledOut(result.structured)) : null;
    if (read?.success !== true) return show(session, result);
    return shown(session, renderTranscript(read.data, contextOf(session.door), style));
  }
  const ctx = contextOf(session.door);
  const lines: string[] = [];
  let cursor = "start";
  for (let pages = 0; pages < MOST_PAGES && !session.door.signal.aborted; pages += 1) {
    const result = await page(session, { ...session.args, cursor, limit: 50 });
    const read = result.ok ? transcriptOutput.safeParse(spelledOut(result.structured)) : null;
    if (read?.success !== true) return show(session, result);
    lines.push(...entryLines(read.data.entries, ctx, style), ...read.data.gaps.map((gap) => `gap: ${gap}`));
    if (read.data.next_cursor === null) break;
    cursor = read.data.next_cursor;
  }
  return shown(session, lines.join("\n").trimStart());
}

/** The newest page, then every entry that comes after it, until the run is no longer live. */
async function follow(session: Session): Promise<number> {
  const { door, line } = session;
  const ctx = contextOf(door);
  const style = { full: line.switches.full === true };
  let last = 0;
  let cursor: string | null = null;
  while (!door.signal.aborted) {
    const result = await page(session, { ...session.args, ...(cursor === null ? {} : { cursor, limit: 50 }) });
    const read = result.ok ? transcriptOutput.safeParse(spelledOut(result.structured)) : null;
    if (read?.success !== true) return show(session, result);
    const fresh = read.data.entries.filter((entry) => entry.n > last);
    if (fresh.length > 0) door.out(entryLines(fresh, ctx, style).join("\n"));
    last = fresh.at(-1)?.n ?? last;
    const more = cursor !== null && read.data.next_cursor !== null;
    cursor = last === 0 ? "start" : `after-${last}`;
    if (more) continue;
    const { run } = read.data;
    if ((run.state === "stopped" || run.state === "done") && run.waiting_until === null) {
      door.out(`\n${ctx.paint.strong(run.stop?.headline ?? `It is ${run.state}.`)}`);
      return 0;
    }
    await sleep(FOLLOW_MS, door.signal);
  }
  return 0;
}

function page({ door, command }: Session, args: Readonly<Record<string, unknown>>) {
  return door.call(command.tool, args, callerOf(door));
}

async function shown({ door, line }: Session, text: string): Promise<number> {
  if (line.switches.pager === false) door.out(text);
  else await door.page(text);
  return 0;
}
