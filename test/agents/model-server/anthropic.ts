import { z } from "zod";
import { epochMs } from "../../../src/run/clock.ts";
import type { Conversation, Turn } from "./conversation.ts";
import { type Answer, type Dialect, eventStream, jsonAnswer, nextId, type Spoken, windowResetsAt } from "./dialect.ts";
import type { Fault } from "./script.ts";

/** Anthropic Messages, as Claude Code asks. */
export const anthropic: Dialect = {
  name: "anthropic",
  matches: (path) => path.endsWith("/messages"),
  read,
  answer,
  refuse,
};

const Block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  name: z.string().optional(),
  content: z.unknown().optional(),
});
const Content = z.union([z.string(), z.array(Block)]);
const Body = z.looseObject({
  model: z.string(),
  stream: z.boolean().optional(),
  system: Content.optional(),
  messages: z.array(z.looseObject({ role: z.string(), content: Content })),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
});

function read(raw: unknown): Conversation {
  const body = Body.parse(raw);
  return {
    system: textOf(body.system ?? ""),
    turns: body.messages.map((message) => turnOf(message.role, message.content)),
    tools: (body.tools ?? []).map((tool) => ({ name: tool.name, namespace: null, kind: "function" })),
  };
}

function turnOf(role: string, content: z.infer<typeof Content>): Turn {
  const blocks = typeof content === "string" ? [] : content;
  const onlyResults = blocks.length > 0 && blocks.every((block) => block.type === "tool_result");
  return {
    role: role === "assistant" ? "assistant" : onlyResults ? "tool" : "user",
    text: textOf(content),
    calls: blocks.flatMap((block) => (block.type === "tool_use" && block.name !== undefined ? [block.name] : [])),
  };
}

function textOf(content: z.infer<typeof Content>): string {
  if (typeof content === "string") return content;
  return content
    .map((block) => block.text ?? (block.type === "tool_result" ? resultText(block.content) : ""))
    .filter((text) => text !== "")
    .join("\n");
}

function resultText(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content ?? "");
}

function answer(spoken: Spoken, request: { readonly body: unknown }): Answer {
  const body = Body.parse(request.body);
  const content = [
    ...(spoken.say === "" ? [] : [{ type: "text", text: spoken.say }]),
    ...spoken.calls.map((call) => ({ type: "tool_use", id: nextId("toolu"), name: call.tool.name, input: call.args })),
  ];
  const stop_reason = spoken.calls.length > 0 ? "tool_use" : "end_turn";
  const message = { id: nextId("msg"), type: "message", role: "assistant", model: body.model, stop_sequence: null };
  const usage = { input_tokens: 1000, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 50 };
  if (body.stream !== true) return jsonAnswer(200, { ...message, content, stop_reason, usage });

  const start = event("message_start", {
    message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
  });
  const end = event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 50 } });
  return eventStream([start, ...content.map(blockEvents), end, event("message_stop", {})].join(""));
}

function blockEvents(block: { readonly type: string; readonly text?: string; readonly input?: unknown }, index: number): string {
  const isText = block.type === "text";
  const opened = isText ? { type: "text", text: "" } : { ...block, input: {} };
  const delta = isText
    ? { type: "text_delta", text: block.text }
    : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
  return [
    event("content_block_start", { index, content_block: opened }),
    event("content_block_delta", { index, delta }),
    event("content_block_stop", { index }),
  ].join("");
}

function event(type: string, data: Readonly<Record<string, unknown>>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

function refuse(fault: Fault): Answer {
  const error = (status: number, type: string, message: string, headers: Record<string, string> = {}) =>
    jsonAnswer(status, { type: "error", error: { type, message }, request_id: nextId("req") }, headers);
  switch (fault) {
    case "rate_limit":
      return error(429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later.");
    case "overloaded":
      return error(529, "overloaded_error", "Overloaded");
    case "no_credit":
      return error(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.");
    case "unauthorized":
      return error(401, "authentication_error", "invalid x-api-key");
    case "usage_window": {
      const reset = `${windowResetsAt(epochMs())}`;
      return error(429, "rate_limit_error", "Claude AI usage limit reached", {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": reset,
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-5h-status": "rejected",
        "anthropic-ratelimit-unified-5h-reset": reset,
        "retry-after": "3600",
      });
    }
  }
}
