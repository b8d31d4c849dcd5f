import { type ChildProcess, spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import { sleep } from "../../../src/run/clock.ts";
import { BIN } from "../../support/product.ts";

/** The built binary in a pseudo-terminal of its own, made by `script` of util-linux. */
export interface Terminal {
  /** Everything written so far, as the terminal got it. */
  text(): string;
  /** Resolves when the text holds `wanted`. */
  shows(wanted: string | RegExp): Promise<void>;
  type(keys: string): void;
  /** Exit code and all of the text. */
  ended: Promise<{ readonly code: number | null; readonly text: string; readonly lines: readonly string[] }>;
}

export interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly columns: number;
}

/** Quoted for a shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** A shell function that makes `loopkeeper ...` the built binary, so that lines of answers can be typed as they stand. */
export const AS_COMMAND = `loopkeeper() { ${quoted(process.execPath)} ${quoted(BIN)} "$@"; }`;

/** Types one shell line, e.g. `loopkeeper list`, at a terminal. */
export function atTerminal(line: string, place: Place): Terminal {
  const command = `stty cols ${place.columns} rows 24; ${AS_COMMAND}; ${line}`;
  const child: ChildProcess = spawn("script", ["-qec", command, "/dev/null"], {
    cwd: place.cwd,
    env: { TERM: "xterm-256color", SHELL: "/bin/bash", ...place.env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  let over = false;
  const ended = code.then((seen) => {
    over = true;
    return { code: seen, text, lines: linesOf(text) };
  });
  return {
    text: () => text,
    shows: async (wanted) => {
      const there = (): boolean => (typeof wanted === "string" ? text.includes(wanted) : wanted.test(text));
      while (!there()) {
        if (over) throw new Error(`it ended without showing ${String(wanted)}:\n${text}`);
        await sleep(30);
      }
    },
    type: (keys) => void child.stdin?.write(keys),
    ended,
  };
}

function linesOf(text: string): readonly string[] {
  return stripVTControlCharacters(text).split(/\r?\n/u);
}

export function widest(lines: readonly string[]): number {
  return Math.max(...lines.map((line) => stringWidth(line)));
}

/** Characters that a terminal obeys, other than line ends, tabs and the start of colours. */
export function obeyed(text: string): readonly string[] {
  return [...text.replaceAll(COLOUR, "")].filter((char) => {
    const code = char.codePointAt(0) ?? 0;
    const control = (code < 0x20 && !"\t\n\r".includes(char)) || (code >= 0x7f && code <= 0x9f);
    return control || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  });
}

const COLOUR = new RegExp(`${String.fromCharCode(0x1b)}\\[[\\d;]*m`, "gu");
