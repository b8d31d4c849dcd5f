import { z } from "zod";
import { sleep } from "../../../src/run/clock.ts";
import { refused } from "../../../src/run/errors.ts";
import { tool as nameOf } from "../../../src/run/names.ts";
import { said } from "../../../src/run/said.ts";
import { type CallResult, failureOf } from "../../../src/tools/call.ts";
import { defineTool, type Tool, type ToolEffect } from "../../../src/tools/define-tool.ts";
import type { CallTool } from "../../../src/tools/runtime.ts";

function tiny(name: string, effect: ToolEffect, input: z.ZodObject): Tool {
  return defineTool({
    name,
    title: `Tiny ${name}`,
    description: `A tool of the door's own tests: ${name}.`,
    effect,
    idempotent: effect !== "destructive",
    openWorld: name === "coding_loop_start",
    input,
    output: z.object({ summary: z.string(), args: z.record(z.string(), z.unknown()).optional() }),
    handle: async (args) => ({ summary: name, args }),
    render: (answer) => answer.summary,
  });
}

const runId = z.string().describe("The run.");

/** Tools with every shape of argument that the doors have to carry. */
export const TINY_TOOLS: readonly Tool[] = [
  tiny(
    "coding_loop_start",
    "write",
    z.strictObject({
      repo: z.string().describe("Path of the repository."),
      objective: z.string(),
      max_iterations: z.number().int().min(1).max(200).default(10),
      workspace: z.enum(["worktree", "in_place"]).optional(),
      verify: z.array(z.string()).optional(),
      budget: z.strictObject({ minutes: z.number() }).optional(),
      dry_run: z.boolean().optional(),
    }),
  ),
  tiny(
    "run_list",
    "read",
    z.strictObject({
      archived: z.boolean().optional(),
      repo: z.string().optional(),
      limit: z.number().optional(),
      cursor: z.string().optional(),
    }),
  ),
  tiny("run_wait", "read", z.strictObject({ run_id: runId })),
  tiny(
    "run_grant_iterations",
    "write",
    z.strictObject({ run_id: runId, iterations: z.number().int(), continue: z.boolean().optional() }),
  ),
  tiny("run_reset", "destructive", z.strictObject({ run_id: runId, confirm_token: z.string().optional() })),
];

export const FIRST_RUN = "run_aaaaaaaa000000000001";
export const SECOND_RUN = "run_aaaabbbb000000000002";
export const ARCHIVED_RUN = "run_cccccccc000000000003";

/** Answers calls with what they were given, after the check of arguments that every call gets. */
export const tinyCall: CallTool = async (tool, raw, caller) => {
  const parsed = tool.parse(raw ?? {});
  if (!parsed.success) {
    const known = Object.keys(tool.input.shape).join(", ");
    return failed("bad_input", `${tool.name} takes: ${known}.`);
  }
  const args = parsed.data;
  if (tool.name === "run_list") return listed(args);
  if (tool.name === "run_wait") return waited(caller.signal, caller.progress);
  if (tool.name === "run_reset" && args["confirm_token"] === undefined) {
    return { ok: true, structured: { summary: "preview", needs_confirmation: true }, text: "preview" };
  }
  if (tool.name === "run_grant_iterations" && args["iterations"] === 13)
    return failed("not_allowed", "archived: bring it back first.", "archived");
  if (tool.name === "run_grant_iterations" && args["iterations"] === 14)
    return failureOf(refused("busy", said`call ${nameOf("run_grant_iterations")} again.`), caller);
  return { ok: true, structured: { summary: tool.name, args }, text: `${tool.name} ${JSON.stringify(args)}` };
};

function failed(code: "bad_input" | "not_allowed", message: string, refusal: string | null = null): CallResult {
  return { ok: false, code, refusal, text: `${code}: ${message}` };
}

/** Calls of run_wait that are under way; run_list tells the number. */
let waiting = 0;

/** Two pages of runs that are not archived, one of archived ones. */
function listed(args: Record<string, unknown>): CallResult {
  const firstPage = args["cursor"] === undefined;
  const ids = args["archived"] === true ? [ARCHIVED_RUN] : firstPage ? [FIRST_RUN] : [SECOND_RUN];
  const next = args["archived"] !== true && firstPage ? "page2" : null;
  return {
    ok: true,
    structured: { summary: `${waiting} waiting`, runs: ids.map(row), next_cursor: next },
    text: ids.join("\n"),
  };
}

/** The second run was started after the first and changed before it. */
function row(run_id: string) {
  const created_at = run_id === FIRST_RUN ? "2026-01-01T00:00:00.000Z" : "2026-01-02T00:00:00.000Z";
  const changed_at = run_id === FIRST_RUN ? "2026-01-05T00:00:00.000Z" : "2026-01-03T00:00:00.000Z";
  return { run_id, created_at, changed_at };
}

async function waited(
  signal: AbortSignal,
  progress: (update: { progress: number; message: string }) => void,
): Promise<CallResult> {
  waiting += 1;
  progress({ progress: 0, message: "waiting" });
  await sleep(60_000, signal);
  waiting -= 1;
  return { ok: true, structured: { summary: "waited" }, text: signal.aborted ? "cancelled" : "waited" };
}
