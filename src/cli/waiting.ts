import { z } from "zod";
import { monotonicMs, sleep } from "../run/clock.ts";
import type { CallResult } from "../tools/call.ts";
import { runViewSchema } from "../tools/schemas.ts";
import { duration } from "./ages.ts";
import { type CliDoor, callerOf, type LiveLine } from "./door.ts";
import { cutTo, paintFor } from "./layout.ts";
import { contextOf, type Session, show } from "./show.ts";
import { spelledOut } from "./spell-out.ts";
import { viewOf } from "./views.ts";

/** What a shell gives a command that Ctrl-C ended. */
const INTERRUPTED = 130;
const PAINT_MS = 120;
const LOOK_MS = 1_000;

const waitedSchema = z.looseObject({ run: runViewSchema, timed_out: z.boolean().default(false) });
const entriesSchema = z.looseObject({
  entries: z.array(z.looseObject({ kind: z.string(), text: z.string(), about: z.string().nullable() })),
});

/**
 * `loopkeeper wait`: until what was asked for has happened, or `--timeout-s` is over when it was given. The tool's own limit is for
 * clients that cut long calls; a person's terminal does not.
 */
export async function waited(session: Session): Promise<number> {
  const { door } = session;
  const ended = new AbortController();
  const painting = door.live === null ? null : paintProgress(session, door.live, ended.signal);
  try {
    const result = await untilReached(session);
    ended.abort();
    await painting;
    if (door.signal.aborted) return interrupted(session, result);
    return await showEnd(session, result);
  } finally {
    ended.abort();
    door.live?.end();
  }
}

async function untilReached({ door, command, args }: Session): Promise<CallResult> {
  const limited = args["timeout_s"] !== undefined;
  const lines = progressLines(door);
  let known: Readonly<Record<string, unknown>> = args;
  for (;;) {
    const result = await door.call(command.tool, known, callerOf(door, lines));
    const answer = result.ok ? waitedSchema.safeParse(result.structured) : null;
    if (limited || door.signal.aborted || answer?.success !== true || !answer.data.timed_out) return result;
    // Nothing of what is waited for had happened by then, so the next call may begin there.
    known = { ...args, since_revision: answer.data.run.revision };
  }
}

/** Where no line can be written over, a line is written when something new is to be told. */
function progressLines(door: CliDoor): (update: { readonly message: string }) => void {
  let last = "";
  return ({ message }) => {
    if (door.live === null && message !== last) door.err(message);
    last = message;
  };
}

async function showEnd(session: Session, result: CallResult): Promise<number> {
  const { door, line } = session;
  const status = door.tools.find((tool) => tool.name === "run_status");
  if (line.json || !result.ok || status === undefined) return show(session, result);
  const answer = waitedSchema.safeParse(result.structured);
  if (!answer.success || answer.data.timed_out) return show(session, result);
  const now = await door.call(status, { run_id: answer.data.run.run_id }, callerOf(door));
  const page = now.ok ? viewOf(status.name, now.structured, contextOf(door)) : null;
  if (page === null) return show(session, result);
  door.out(page);
  return 0;
}

function interrupted(session: Session, result: CallResult): number {
  if (session.line.json) show(session, result);
  else session.door.err("Waiting was ended; the run goes on.");
  return INTERRUPTED;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const BAR = 12;

/** The line at a terminal: spinner, iterations, how long, and what the agent is at. */
async function paintProgress(session: Session, live: LiveLine, ended: AbortSignal): Promise<void> {
  const started = monotonicMs();
  const paint = paintFor(live.colour);
  let seen: Progress | null = null;
  let looking: Promise<void> | null = null;
  let lookedMs = Number.NEGATIVE_INFINITY;
  for (let frame = 0; !ended.aborted && !session.door.signal.aborted; frame += 1) {
    if (looking === null && monotonicMs() - lookedMs >= LOOK_MS) {
      lookedMs = monotonicMs();
      looking = look(session).then((found) => {
        seen = found ?? seen;
        looking = null;
      });
    }
    const spinner = FRAMES[frame % FRAMES.length] ?? "";
    const text = cutTo(` ${progressText(seen, (monotonicMs() - started) / 1000)}`, live.columns - 2);
    live.show(`${paint.accent(spinner)}${text}`);
    await sleep(PAINT_MS, ended);
  }
  await looking;
  live.end();
}

interface Progress {
  readonly state: string;
  readonly iteration: number;
  readonly max_iterations: number;
  readonly doing: string;
}

function progressText(seen: Progress | null, seconds: number): string {
  if (seen === null) return "looking...";
  const { iteration, max_iterations: most } = seen;
  const filled = Math.min(BAR, Math.round((iteration / Math.max(1, most)) * BAR));
  const bar = `${"#".repeat(filled)}${"-".repeat(BAR - filled)}`;
  return `${seen.state} [${bar}] ${iteration}/${most} ${duration(seconds)}${seen.doing === "" ? "" : ` ${seen.doing}`}`;
}

async function look({ door, args }: Session): Promise<Progress | null> {
  const named = (name: string) => door.tools.find((tool) => tool.name === name);
  const [status, transcript] = [named("run_status"), named("run_transcript")];
  if (status === undefined || transcript === undefined) return null;
  const quiet = callerOf(door, () => {});
  const run_id = args["run_id"];
  const answer = await door.call(status, { run_id }, quiet);
  const view = answer.ok ? waitedSchema.safeParse(answer.structured) : null;
  if (view?.success !== true) return null;
  const said = await door.call(transcript, { run_id, limit: 3 }, quiet);
  const page = said.ok ? entriesSchema.safeParse(spelledOut(said.structured)) : null;
  const { run } = view.data;
  const doing = run.state === "running" && page?.success === true ? doingNow(page.data.entries) : "";
  return { state: run.state, iteration: run.iteration, max_iterations: run.max_iterations, doing };
}

/** The last thing seen: the tool that was called last, or the first words of what was said. */
function doingNow(entries: z.infer<typeof entriesSchema>["entries"]): string {
  const last = entries.findLast((entry) => ["tool_call", "tool_result", "message", "thought", "verify"].includes(entry.kind));
  if (last === undefined) return "";
  const text = last.kind === "tool_result" ? (last.about ?? "") : last.text;
  return text.split("\n")[0]?.trim() ?? "";
}
