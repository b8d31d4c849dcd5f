import { readFile } from "node:fs/promises";
import { z } from "zod";
import { reportInputSchema } from "../../run/report.ts";

/**
 * The script of the deterministic agent: a JSON file.
 *
 * ```json
 * {
 *   "turns": [
 *     [{ "say": "I look around." }, { "run": "ls" }, { "edit": { "path": "a.txt", "content": "hello\n" } }],
 *     { "when": "failing verify", "do": [{ "edit": { "path": "a.txt", "append": "more\n" } }] },
 *     [{ "commit": "Add a.txt" }, { "report": { "completed": ["a.txt"], "intended": [], "verdict": "done" } }]
 *   ],
 *   "after": [{ "say": "nothing more to do" }]
 * }
 * ```
 *
 * Each prompt of a session plays one turn: the first keyed turn (`when`) whose text the prompt holds, else the next list
 * of `turns` that this session has not played yet, else `after` (default: end the turn). Keyed turns are never used up.
 * A session that is loaded again goes on with its next turn; a prompt that was cut off counts as played.
 *
 * Actions, played in order until one ends the turn:
 * - `say`, `think`: a message or thought chunk. `plan`: the to-do list, `[content, status]` or `{content, status}` entries.
 * - `edit`: `{path, content}`, `{path, append}` or `{path, replace: [from, to]}`; as a tool call of kind `edit`.
 * - `run`: a shell command, or `{command, ask?, title?}`; as a tool call of kind `execute` with output and status.
 *   `commit`: message; adds everything and commits. `spawn`: a command left in the background, or `{command, detached}`.
 * - `report`: the input of `report_progress`, really called at the injected MCP server.
 * - `ask_permission`: a command; asks, and runs nothing. `usage`: `{input, output, cost?}` tokens and US dollars.
 * - `recall`: says back the earlier prompts of the session. `environment`: says the values of the named variables.
 * - `sleep`: milliseconds. `hang`: silent until cancelled (`"deaf"`: a cancel is ignored too).
 * - `fail`: a kind of FAILURE_KINDS, `{kind, resets?, hidden?}` (`hidden`: told inside a normal end of turn) or
 *   `{code, message, data?}`. `end`: a stop reason. `refuse`: true. `die`: an exit code or a signal's name.
 * - `repeat`: `{times, do}`. `update`: any session/update, sent as it is.
 *
 * In mode `all` the agent asks for nothing, in `edits` before commands, in `ask` before edits too; `ask: true` always asks.
 */

export const FAILURE_KINDS = [
  "rate_limit",
  "usage_limit",
  "overloaded",
  "credit",
  "auth",
  "context",
  "connection",
  "turns",
  "unknown",
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

const planStatus = z.enum(["pending", "in_progress", "completed"]);
const planEntry = z.union([
  z.tuple([z.string(), planStatus]).transform(([content, status]) => ({ content, status })),
  z.strictObject({ content: z.string(), status: planStatus }),
]);

const edit = z.union([
  z.strictObject({ path: z.string(), content: z.string() }),
  z.strictObject({ path: z.string(), append: z.string() }),
  z.strictObject({ path: z.string(), replace: z.tuple([z.string(), z.string()]) }),
]);

const run = z.union([
  z.string().transform((command) => ({ command, ask: false, title: command })),
  z
    .strictObject({ command: z.string(), ask: z.boolean().default(false), title: z.string().optional() })
    .transform(({ command, ask, title }) => ({ command, ask, title: title ?? command })),
]);

const spawned = z.union([
  z.string().transform((command) => ({ command, detached: true })),
  z.strictObject({ command: z.string(), detached: z.boolean().default(true) }),
]);

const failure = z.union([
  z.enum(FAILURE_KINDS).transform((kind) => ({ kind, resets: null, hidden: false })),
  z.strictObject({
    kind: z.enum(FAILURE_KINDS),
    resets: z.string().nullable().default(null),
    hidden: z.boolean().default(false),
  }),
  z.strictObject({ code: z.number().int(), message: z.string(), data: z.unknown().optional() }),
]);
export type Failure = z.output<typeof failure>;

const simpleAction = z.union([
  z.strictObject({ say: z.string() }),
  z.strictObject({ think: z.string() }),
  z.strictObject({ plan: z.array(planEntry) }),
  z.strictObject({ edit }),
  z.strictObject({ run }),
  z.strictObject({ commit: z.string() }),
  z.strictObject({ spawn: spawned }),
  z.strictObject({ report: reportInputSchema }),
  z.strictObject({ ask_permission: z.string() }),
  z.strictObject({ usage: z.strictObject({ input: z.number(), output: z.number(), cost: z.number().optional() }) }),
  z.strictObject({ recall: z.literal(true) }),
  z.strictObject({ environment: z.array(z.string()) }),
  z.strictObject({ sleep: z.number().nonnegative() }),
  z.strictObject({ hang: z.union([z.literal(true), z.literal("deaf")]) }),
  z.strictObject({ fail: failure }),
  z.strictObject({ end: z.enum(["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]) }),
  z.strictObject({ refuse: z.literal(true) }),
  z.strictObject({ die: z.union([z.number().int(), z.enum(["SIGKILL", "SIGTERM", "SIGSEGV"])]) }),
  z.strictObject({ update: z.looseObject({ sessionUpdate: z.string() }) }),
]);
const action = z.union([
  simpleAction,
  z.strictObject({ repeat: z.strictObject({ times: z.number().int().positive(), do: z.array(simpleAction) }) }),
]);
export type Action = z.output<typeof action>;

const scriptSchema = z.strictObject({
  turns: z.array(z.union([z.array(action), z.strictObject({ when: z.string(), do: z.array(action) })])),
  after: z.array(action).default([]),
  /** Models that `session/set_model` takes. */
  models: z.array(z.string()).min(1).default(["scripted-1", "scripted-2"]),
  /** False: like an engine that starts no injected MCP server. */
  mcp: z.boolean().default(true),
  /** False: session/resume is not offered, so that a client has to use session/load. */
  resume: z.boolean().default(true),
  /** False: neither session/load nor session/resume is offered. */
  load: z.boolean().default(true),
});
export type Script = z.output<typeof scriptSchema>;

/** Reads and checks a script; throws with the file's name and the first thing that is wrong. */
export async function readScript(file: string): Promise<Script> {
  const text = await readFile(file, "utf8");
  const parsed = scriptSchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error(`${file} is not a script: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

export interface ChosenTurn {
  readonly actions: readonly Action[];
  /** Whether this prompt used up the next list of `turns`. */
  readonly numbered: boolean;
}

/** The turn for a prompt in a session that has played `played` numbered turns. */
export function chooseTurn(script: Script, prompt: string, played: number): ChosenTurn {
  const lists: (readonly Action[])[] = [];
  for (const turn of script.turns) {
    if (!("when" in turn)) lists.push(turn);
    else if (prompt.includes(turn.when)) return { actions: turn.do, numbered: false };
  }
  return { actions: lists[played] ?? script.after, numbered: true };
}
