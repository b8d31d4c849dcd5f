import type { Said } from "./said.ts";

/** How tools and their arguments are called by an agent, on a page and at a terminal. */

/** The command of each tool, and what a page has for it: a button, or the place where it stands. */
export const TOOL_NAMES = {
  coding_loop_start: { command: "start", page: "loopkeeper start" },
  run_list: { command: "list", page: "the ledger" },
  run_status: { command: "status", page: "its page" },
  run_wait: { command: "wait", page: "its page" },
  run_explain_stop: { command: "explain", page: "its page" },
  run_transcript: { command: "transcript", page: "Transcript" },
  run_diff: { command: "diff", page: "Changes" },
  run_resume: { command: "resume", page: "Resume" },
  run_grant_iterations: { command: "grant", page: "Grant" },
  run_reset: { command: "reset", page: "Reset" },
  run_redo: { command: "redo", page: "Redo" },
  run_stop: { command: "stop", page: "Stop" },
  run_instruct: { command: "instruct", page: "Instruct" },
  run_archive: { command: "archive", page: "Archive" },
} as const;
export type ToolName = keyof typeof TOOL_NAMES;

export function tool(name: ToolName): Said {
  const { command, page } = TOOL_NAMES[name];
  return { agent: name, page, shell: `\`loopkeeper ${command}\`` };
}

/** The same once more, after what the sentence says was done. */
export const AGAIN: Said = { agent: "call again", page: "try again", shell: "call again" };

/** What a page calls the values of an argument that a person chooses. */
export const LABELS = {
  on_drift: {
    keep: "Go on with things as they are now",
    restore: "Put the files back as they were at the stop",
    refuse: "Do not go on if anything changed",
  },
  from: { stop: "Where it stopped", entry: "From the step's start" },
  at: { reset: "When the usage window resets", now: "Now" },
} as const;

/** An argument with a value, e.g. `on_drift: "keep"`. */
export function setting<A extends keyof typeof LABELS>(argument: A, value: keyof (typeof LABELS)[A] & string): Said {
  const labels: Readonly<Record<string, string>> = LABELS[argument];
  return {
    agent: `${argument}: "${value}"`,
    page: `"${labels[value] ?? value}"`,
    shell: `\`${flag(argument)} ${value}\``,
  };
}

/** An argument by itself. `page`: what a page calls it. */
export function argument(name: string, page: string): Said {
  return { agent: name, page, shell: `\`${flag(name)}\`` };
}

/** What stands where a person's own word goes. Where one value is the usual one, that is given: the line works as it stands. */
export const USUAL: Readonly<Record<string, string>> = {
  instructions: "'what it should do'",
  objective: "'what it is to reach'",
  add_iterations: "10",
  iterations: "10",
  permission: "allow_once",
  budget: "minutes=60",
};

/** An argument as it is typed with its usual value, e.g. `--add-iterations 10`. */
export function typed(name: string): string {
  return `\`${flag(name)} ${USUAL[name] ?? "'...'"}\``;
}

/** `add_iterations` as it is typed: `--add-iterations`. */
export function flag(name: string): string {
  return `--${name.replaceAll("_", "-")}`;
}
