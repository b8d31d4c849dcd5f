import { z } from "zod";
import { now } from "../run/clock.ts";
import { type ErrorCode, LoopkeeperError, refused } from "../run/errors.ts";
import { canonicalJson, sha256 } from "../run/id.ts";
import { flag, tool as nameOf } from "../run/names.ts";
import { asSaid, type Said, said, saidList, toCallers } from "../run/said.ts";
import type { Call, Caller, RequestSeed, ToolContext } from "./context.ts";
import type { Tool, ToolAnswer } from "./define-tool.ts";
import { replayAnswer } from "./present.ts";

export type FailedCall = Extract<CallResult, { ok: false }>;

export type CallResult =
  | { readonly ok: true; readonly structured: Record<string, unknown>; readonly text: string }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      /** The fixed first word of a refusal, which a person is not told; null for any other error. */
      readonly refusal: string | null;
      readonly text: string;
    };

/** An answer longer than this is a defect of the tool that made it: every client cuts or drops it somewhere. */
const TEXT_CAP = 10_000;

/**
 * The one way into a tool, for every door: arguments are checked, a repeated request_id gets its stored answer, and each
 * fault becomes one `code: what happened, what is valid, what to call next`.
 */
export async function callTool(
  tool: Tool,
  rawArgs: unknown,
  ctx: ToolContext,
  onDefect: (error: unknown) => void,
): Promise<CallResult> {
  try {
    const answer = await answerCall(tool, rawArgs ?? {}, ctx);
    return { ok: true, structured: answer.structured, text: cut(answer.text) };
  } catch (error) {
    if (error instanceof LoopkeeperError) return failureOf(error, ctx.caller);
    onDefect(error);
    return failureOf(defect(tool.name), ctx.caller);
  }
}

function defect(name: string): LoopkeeperError {
  return new LoopkeeperError(
    "internal",
    said`${{ agent: name, page: "this", shell: "this" }} failed in a way it was not made for; nothing is known to have changed. Look at ${nameOf("run_status")}, then try again; the log has the details.`,
  );
}

async function answerCall(tool: Tool, raw: unknown, ctx: ToolContext): Promise<ToolAnswer> {
  const parsed = tool.parse(raw);
  if (!parsed.success) throw new LoopkeeperError("bad_input", inputFault(tool, parsed.error));
  if (tool.effect !== "read" && ctx.inside_run !== null) {
    throw refused(
      "inside_a_run",
      `this call comes from inside run ${ctx.inside_run}; a run may read but not start or change runs. Tell your owner with report_progress instead.`,
    );
  }
  const requestId = parsed.data["request_id"];
  if (typeof requestId !== "string") return tool.run(raw, { ctx, request: null });
  return answerOnce(tool, raw, parsed.data, requestId, ctx);
}

/** A request id has its effect once; a second call, even one that came while the first was under way, is told the stored answer. */
async function answerOnce(
  tool: Tool,
  raw: unknown,
  args: Record<string, unknown>,
  requestId: string,
  ctx: ToolContext,
): Promise<ToolAnswer> {
  const hash = sha256(`${tool.name}\n${canonicalJson(args)}`);
  const stored = await replay(tool, requestId, hash, ctx);
  if (stored !== null) return stored;
  try {
    return await tool.run(raw, { ctx, request: requestSeed(tool, requestId, hash, ctx) } satisfies Call);
  } catch (error) {
    const winner = await replay(tool, requestId, hash, ctx);
    if (winner !== null) return winner;
    throw error;
  }
}

async function replay(tool: Tool, requestId: string, hash: string, ctx: ToolContext): Promise<ToolAnswer | null> {
  const stored = await ctx.store.findRequest(ctx.owner, requestId);
  if (stored === null) return null;
  if (stored.args_hash !== hash) {
    throw new LoopkeeperError(
      "bad_input",
      `request_id ${requestId} was already used for ${stored.tool} with other arguments at ${stored.at}. Use a new request_id for a new call, or repeat the first call unchanged.`,
    );
  }
  return tool.present(await replayAnswer(ctx, stored));
}

function requestSeed(tool: Tool, requestId: string, hash: string, ctx: ToolContext): RequestSeed {
  return {
    record: (runId, own) => ({
      owner: ctx.owner,
      request_id: requestId,
      tool: tool.name,
      args_hash: hash,
      run_id: runId,
      answer: JSON.stringify(own),
      at: now(),
    }),
  };
}

/** Says which argument is wrong, what would be right, and which arguments there are. */
function inputFault(tool: Tool, error: z.ZodError): Said {
  const faults = error.issues.slice(0, 5).map((issue) => {
    const [first, ...rest] = issue.path.map(String);
    const where = first === undefined ? asSaid("") : said`${argumentName(first)}${rest.map((part) => `.${part}`).join("")}`;
    if (issue.code === "unrecognized_keys")
      return said`unknown argument ${issue.keys.map((key) => `"${key}"`).join(", ")}${first === undefined ? "" : said` in ${where}${knownIn(tool.input, issue.path)}`}`;
    return said`${first === undefined ? "arguments" : where}: ${issue.message}`;
  });
  const known = Object.entries(tool.input.shape).map(([name, schema]) => {
    const optional = schema instanceof Object && "safeParse" in schema && schema.safeParse(undefined).success;
    return said`${argumentName(name)}${optional ? "?" : ""}`;
  });
  const takes = toCallers(said` ${{ agent: tool.name, page: "", shell: "It" }} takes: ${saidList(known, ", ")}.`);
  return said`${saidList(faults, "; ")}.${takes} Nothing was changed; ${toCallers(said`call it again with these`, "try again")}.`;
}

function argumentName(name: string): Said {
  return { agent: name, page: name.replaceAll("_", " "), shell: flag(name) };
}

/** The names that a nested object takes, e.g. ` (known there: minutes, tokens)`; empty when the path leads to no object. */
function knownIn(schema: z.ZodObject, path: readonly PropertyKey[]): string {
  let at: unknown = schema;
  for (const part of path) {
    if (at instanceof z.ZodArray) at = at.element;
    else if (at instanceof z.ZodObject && typeof part === "string") at = at.shape[part];
    if (at instanceof z.ZodOptional) at = at.unwrap();
  }
  return at instanceof z.ZodObject ? ` (known there: ${Object.keys(at.shape).join(", ")})` : "";
}

/** An error in the words of whoever called. */
export function failureOf(error: LoopkeeperError, { audience }: Pick<Caller, "audience">): FailedCall {
  const { code, said: told, refusal } = error;
  return { ok: false, code, refusal, text: cut(`${code}: ${told[audience]}`) };
}

function cut(text: string): string {
  return text.length <= TEXT_CAP ? text : `${text.slice(0, TEXT_CAP - 1)}…`;
}
