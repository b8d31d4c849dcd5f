import { createInterface } from "node:readline/promises";
import type { CliDoor, LiveLine } from "./cli/door.ts";
import { runAtTerminal } from "./engine/process.ts";
import { systemCode } from "./run/errors.ts";

/** The terminal (or the pipes) that the command line talks over. */

interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Columns where a terminal does not tell; narrower than the least, everything would be dots. */
const USUAL_COLUMNS = 80;
const LEAST_COLUMNS = 20;

const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
const CLEAR_LINE = "\r\u001b[K";

export function terminalOf(place: Place): Pick<CliDoor, "screen" | "out" | "err" | "ask" | "canAsk" | "page" | "live"> {
  const { stdin, stdout, stderr } = process;
  const dumb = place.env["TERM"] === "dumb";
  // Who reads the first lines alone (`| head`) closes the pipe: nothing is left to be said then.
  stdout.on("error", (error) => process.exit(systemCode(error) === "EPIPE" ? 0 : 1));
  const columns = stdout.isTTY ? columnsOf(stdout.columns) : null;
  const out = (text: string): void => void stdout.write(`${text}\n`);
  return {
    screen: { columns, colour: hasColour(place.env, stdout.isTTY) },
    out,
    err: (text) => void stderr.write(`${text}\n`),
    canAsk: stdin.isTTY && stderr.isTTY,
    ask: (question) => (stdin.isTTY && stderr.isTTY ? askAt(question, place.signal) : Promise.resolve(null)),
    page: async (text) => {
      if (!stdout.isTTY || dumb || !(await paged(text, place))) out(text);
    },
    live: stderr.isTTY && !dumb ? liveLine(hasColour(place.env, true)) : null,
  };
}

const columnsOf = (told: number): number => Math.max(LEAST_COLUMNS, told > 0 ? told : USUAL_COLUMNS);

/** Colour only at a terminal, unless FORCE_COLOR says otherwise; never with NO_COLOR or at one that has none. */
export function hasColour(env: Readonly<Record<string, string>>, isTerminal: boolean): boolean {
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return isTerminal && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}

/** The line that was typed; null at the end of input or Ctrl-C. */
async function askAt(question: string, signal: AbortSignal): Promise<string | null> {
  if (signal.aborted) return null;
  // Not readline's own terminal mode: the terminal edits the line and sends Ctrl-C as a signal, as for any other program.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const ended = new Promise<null>((resolve) => lines.once("close", () => resolve(null)));
  try {
    return await Promise.race([lines.question(question, { signal }), ended]);
  } catch {
    process.stderr.write("\n");
    return null;
  } finally {
    lines.close();
  }
}

/** False when there is no pager to be had. */
async function paged(text: string, { cwd, env }: Place): Promise<boolean> {
  const wanted = env["PAGER"]?.trim() ?? "less";
  if (wanted === "" || wanted === "cat") return false;
  const command = /^(\S*\/)?less(\s|$)/u.test(wanted) ? `${wanted} -R` : wanted;
  const ignored = (): void => {};
  // Ctrl-C in a pager ends its search, not this process.
  process.on("SIGINT", ignored);
  try {
    const code = await runAtTerminal({ command, cwd, env: { LESS: "FX", LESSSECURE: "1", ...env }, text: `${text}\n` });
    return code !== 127 && code !== 126;
  } finally {
    process.off("SIGINT", ignored);
  }
}

function liveLine(colour: boolean): LiveLine {
  let shown = false;
  const end = (): void => {
    if (!shown) return;
    shown = false;
    process.stderr.write(`${CLEAR_LINE}${SHOW_CURSOR}`);
  };
  process.once("exit", end);
  for (const signal of ["SIGTERM", "SIGHUP"]) {
    process.once(signal, () => {
      end();
      process.exit(143);
    });
  }
  return {
    columns: columnsOf(process.stderr.columns),
    colour,
    show: (text) => {
      process.stderr.write(`${shown ? "" : HIDE_CURSOR}${CLEAR_LINE}${text}`);
      shown = true;
    },
    end,
  };
}
