import { z } from "zod";

/** Updates are parsed leniently: an unknown kind or an odd field must be journalled, not lost. */

const textContent = z.looseObject({ type: z.string(), text: z.string().optional() });

export const chunkSchema = z.looseObject({ content: textContent });

const terminalOutput = z.looseObject({ data: z.string() });

export const toolUpdateSchema = z.looseObject({
  toolCallId: z.string(),
  title: z.string().nullish(),
  kind: z.string().nullish(),
  status: z.string().nullish(),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  content: z
    .array(z.looseObject({ type: z.string(), content: textContent.optional(), path: z.string().optional() }))
    .nullish()
    .catch(null),
  locations: z
    .array(z.looseObject({ path: z.string() }))
    .nullish()
    .catch(null),
  // A command's output as it comes: `_delta` is appended, the other replaces what came before.
  _meta: z
    .looseObject({ terminal_output: terminalOutput.optional(), terminal_output_delta: terminalOutput.optional() })
    .nullish()
    .catch(null),
});
export type ToolUpdate = z.output<typeof toolUpdateSchema>;

export const planSchema = z.looseObject({
  entries: z.array(z.looseObject({ content: z.string(), status: z.enum(["pending", "in_progress", "completed"]) })),
});

const rateLimit = z.looseObject({ status: z.string(), resetsAt: z.number().nullish() });
const sessionFailure = z.looseObject({ category: z.string(), severity: z.string(), title: z.string() });

/** What vendors put into `_meta`, of an update or of a prompt's answer. */
export const metaSchema = z.looseObject({
  "_claude/rateLimit": rateLimit.optional().catch(undefined),
  codex: z
    .looseObject({ threadStatus: z.union([z.string(), z.looseObject({ type: z.string() })]).optional() })
    .optional()
    .catch(undefined),
  jetbrains: z
    .looseObject({ air: z.looseObject({ sessionFailure: sessionFailure.optional() }).optional() })
    .optional()
    .catch(undefined),
  quota: z
    .looseObject({ token_count: z.looseObject({ input_tokens: z.number(), output_tokens: z.number() }).optional() })
    .optional()
    .catch(undefined),
});
export type Meta = z.output<typeof metaSchema>;

export const usageUpdateSchema = z.looseObject({
  cost: z.looseObject({ amount: z.number(), currency: z.string().optional() }).nullish(),
  used: z.number().optional().catch(undefined),
  size: z.number().optional().catch(undefined),
});

export const updateNotificationSchema = z.looseObject({
  sessionId: z.string(),
  update: z.looseObject({ sessionUpdate: z.string(), _meta: metaSchema.nullish() }),
});
export type Update = z.output<typeof updateNotificationSchema>["update"];

export const promptAnswerSchema = z.looseObject({
  stopReason: z.string(),
  usage: z.looseObject({ inputTokens: z.number(), outputTokens: z.number() }).nullish().catch(null),
  _meta: metaSchema.nullish(),
});
export type PromptAnswer = z.output<typeof promptAnswerSchema>;

export const permissionRequestSchema = z.looseObject({
  sessionId: z.string(),
  toolCall: toolUpdateSchema,
  options: z.array(z.looseObject({ optionId: z.string(), kind: z.string(), name: z.string().optional() })),
  _meta: z.looseObject({ is_mcp_tool_approval: z.boolean().optional() }).nullish().catch(null),
});
export type PermissionRequest = z.output<typeof permissionRequestSchema>;
