import { z } from "zod";
import type { Report } from "./run.ts";

/** What an engine may tell through the injected tool `report_progress`. */
export const reportInputSchema = z.strictObject({
  completed: z.array(z.string()).describe("What is finished, one short line each."),
  midway: z.string().optional().describe("What is under way and not finished."),
  intended: z.array(z.string()).describe("What is still to do, in order."),
  verdict: z
    .enum(["done", "blocked", "needs_human"])
    .optional()
    .describe(
      "done: the whole objective is reached. blocked: it cannot be reached. needs_human: a person must answer `question`.",
    ),
  question: z.string().optional().describe("What a person must answer; required with needs_human."),
  summary: z.string().optional().describe("One or two sentences on this turn."),
});

/** A report as it is kept: absent parts are null. */
export function toReport(input: z.infer<typeof reportInputSchema>): Report {
  return {
    completed: input.completed,
    midway: input.midway ?? null,
    intended: input.intended,
    verdict: input.verdict ?? null,
    question: input.question ?? null,
    summary: input.summary ?? null,
  };
}

/**
 * The line protocol between the injected report server (a child of the engine) and the driver's socket: one JSON object a
 * line. The child sends `listed` when the engine asked for its tools and `report` for each call; every line is answered.
 */
export const reportLineSchema = z.discriminatedUnion("type", [
  z.strictObject({ id: z.number().int(), token: z.string(), type: z.literal("listed") }),
  z.strictObject({ id: z.number().int(), token: z.string(), type: z.literal("report"), report: reportInputSchema }),
]);
export type ReportLine = z.infer<typeof reportLineSchema>;

export const reportReplySchema = z.strictObject({ id: z.number().int(), ok: z.boolean(), error: z.string().optional() });

/** Environment of the injected report server: where the driver listens, and the attempt's token. */
export const REPORT_SOCKET_VARIABLE = "LOOPKEEPER_REPORT_SOCKET";
export const REPORT_TOKEN_VARIABLE = "LOOPKEEPER_REPORT_TOKEN";
/** Environment of every process of a run: its id and the attempt's nonce. */
export const RUN_ID_VARIABLE = "LOOPKEEPER_RUN_ID";
export const RUN_NONCE_VARIABLE = "LOOPKEEPER_RUN_NONCE";
