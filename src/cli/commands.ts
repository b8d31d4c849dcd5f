import type { Tool } from "../tools/define-tool.ts";

interface CommandRow {
  readonly tool: string;
  /** Arguments that are given by position, in order; each can be given as a flag too. */
  readonly positional: readonly string[];
}

/** Short names of the tools, and what they take by position. */
const COMMANDS: Readonly<Record<string, CommandRow>> = {
  start: { tool: "coding_loop_start", positional: ["objective"] },
  list: { tool: "run_list", positional: [] },
  status: { tool: "run_status", positional: ["run_id"] },
  wait: { tool: "run_wait", positional: ["run_id"] },
  explain: { tool: "run_explain_stop", positional: ["run_id"] },
  transcript: { tool: "run_transcript", positional: ["run_id"] },
  diff: { tool: "run_diff", positional: ["run_id"] },
  resume: { tool: "run_resume", positional: ["run_id"] },
  grant: { tool: "run_grant_iterations", positional: ["run_id", "iterations"] },
  reset: { tool: "run_reset", positional: ["run_id"] },
  redo: { tool: "run_redo", positional: ["run_id", "step"] },
  stop: { tool: "run_stop", positional: ["run_id"] },
  instruct: { tool: "run_instruct", positional: ["run_id", "instructions"] },
  archive: { tool: "run_archive", positional: ["run_id"] },
};

/** A tool as a command. */
export interface Command {
  readonly name: string;
  readonly tool: Tool;
  readonly positional: readonly string[];
}

/** A command for each tool that is served, in the order of the table. */
export function commandsOf(tools: readonly Tool[]): readonly Command[] {
  return Object.entries(COMMANDS).flatMap(([name, row]) => {
    const tool = tools.find((candidate) => candidate.name === row.tool);
    return tool === undefined ? [] : [{ name, tool, positional: row.positional }];
  });
}
