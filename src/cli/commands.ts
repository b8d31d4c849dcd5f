import type { Tool } from "../tools/define-tool.ts";

/** A switch of the command line alone: it says how an answer is shown or asked for, and is no argument of the tool. */
export interface Switch {
  readonly name: "yes" | "follow" | "all" | "full" | "pager";
  readonly about: string;
}

interface CommandRow {
  readonly tool: string;
  /** Arguments that are given by position, in order; each can be given as a flag too. */
  readonly positional: readonly string[];
  /** A reading command without a run means the newest one of the repository: what a person who comes back wants to see. */
  readonly run: "newest" | "named" | "none";
  readonly switches?: readonly Switch[];
}

const YES: Switch = { name: "yes", about: "Show what it does and do it, without asking." };
const PAGER: Switch = { name: "pager", about: "At a terminal: through $PAGER (default less); --no-pager prints at once." };

/** Short names of the tools, and what they take by position. */
const COMMANDS: Readonly<Record<string, CommandRow>> = {
  start: { tool: "coding_loop_start", positional: ["objective"], run: "none" },
  list: { tool: "run_list", positional: [], run: "none" },
  status: { tool: "run_status", positional: ["run_id"], run: "newest" },
  wait: { tool: "run_wait", positional: ["run_id"], run: "newest" },
  explain: { tool: "run_explain_stop", positional: ["run_id"], run: "newest" },
  transcript: {
    tool: "run_transcript",
    positional: ["run_id"],
    run: "newest",
    switches: [
      { name: "follow", about: "Go on with what comes, until the run ends or Ctrl-C." },
      { name: "all", about: "From the first entry to the last, not the newest page alone." },
      { name: "full", about: "Long entries whole; otherwise they are folded." },
      PAGER,
    ],
  },
  diff: { tool: "run_diff", positional: ["run_id"], run: "newest", switches: [PAGER] },
  resume: { tool: "run_resume", positional: ["run_id"], run: "named" },
  grant: { tool: "run_grant_iterations", positional: ["run_id", "iterations"], run: "named" },
  reset: { tool: "run_reset", positional: ["run_id"], run: "named", switches: [YES] },
  redo: { tool: "run_redo", positional: ["run_id", "step"], run: "named", switches: [YES] },
  stop: { tool: "run_stop", positional: ["run_id"], run: "named" },
  instruct: { tool: "run_instruct", positional: ["run_id", "instructions"], run: "named" },
  archive: { tool: "run_archive", positional: ["run_id"], run: "named", switches: [YES] },
};

/** A tool as a command. */
export interface Command {
  readonly name: string;
  readonly tool: Tool;
  readonly positional: readonly string[];
  readonly run: CommandRow["run"];
  readonly switches: readonly Switch[];
}

/** A command for each tool that is served, in the order of the table. */
export function commandsOf(tools: readonly Tool[]): readonly Command[] {
  return Object.entries(COMMANDS).flatMap(([name, row]) => {
    const tool = tools.find((candidate) => candidate.name === row.tool);
    const { positional, run, switches = [] } = row;
    return tool === undefined ? [] : [{ name, tool, positional, run, switches }];
  });
}

/** True for an argument that the command may be called without: it is not required, or the door fills it in. */
export function mayBeLeftOut(command: Command, argument: string, required: boolean): boolean {
  if (!required) return true;
  return argument === "run_id" ? command.run === "newest" : argument === "repo";
}
