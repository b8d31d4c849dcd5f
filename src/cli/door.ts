import type { Audience } from "../run/said.ts";
import type { Caller } from "../tools/context.ts";
import type { Tool } from "../tools/define-tool.ts";
import type { CallTool } from "../tools/runtime.ts";
import type { Screen } from "./layout.ts";

/** What the command line is made of. */
export interface CliDoor {
  readonly tools: readonly Tool[];
  readonly call: CallTool;
  /** Folder that `repo` means when it is left out. */
  readonly cwd: string;
  /** Commands that are no tools (`mcp`, `worker`...) and what they do, for the overview. */
  readonly others: Readonly<Record<string, string>>;
  /** Words that may follow one of those, and the names of `agent`s; for completion. */
  words(of: string): Promise<readonly string[]>;
  /** Whose words are written: a person's, unless a program asked for JSON. */
  readonly audience?: Audience;
  /** Aborts when the person pressed Ctrl-C: ends the waiting. */
  readonly signal: AbortSignal;
  /** What answers are written on. */
  readonly screen: Screen;
  /** Answers. */
  out(text: string): void;
  /** Errors and progress. */
  err(text: string): void;
  /** Asks the person; null where nobody can be asked, or when they gave no answer (end of input, Ctrl-C). */
  ask(question: string): Promise<string | null>;
  /** False where nobody can be asked. */
  readonly canAsk: boolean;
  /** A long answer, through a pager at a terminal. */
  page(text: string): Promise<void>;
  /** One line at a terminal that is written over while something is waited for; null where errors go to no terminal. */
  readonly live: LiveLine | null;
}

export interface LiveLine {
  readonly columns: number;
  readonly colour: boolean;
  /** Writes over what stands there. */
  show(text: string): void;
  /** Takes the line away and gives the cursor back. Again is harmless. */
  end(): void;
}

/** `progress` left out: written as it comes. */
export function callerOf(door: CliDoor, progress: Caller["progress"] = (update) => door.err(update.message)): Caller {
  return { audience: door.audience ?? "shell", signal: door.signal, progress };
}
