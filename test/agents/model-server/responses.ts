import { z } from "zod";
import type { Conversation, OfferedTool, Turn } from "./conversation.ts";
import { type Answer, type Dialect, eventStream, nextId, type Spoken } from "./dialect.ts";
import { refuseLikeOpenAi } from "./openai-faults.ts";
import type { ToolCall } from "./tool-call.ts";

/** OpenAI Responses, as Codex asks. */
export const responses: Dialect = {
  name: "responses",
  matches: (path) => path.endsWith("/responses"),
  read,
  answer,
  refuse: refuseLikeOpenAi,
};

const Content = z.union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))]);
const Tool = z.looseObject({
  type: z.string(),
  name: z.string().optional(),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
});
const Item = z.looseObject({
  type: z.string().optional(),
  role: z.string().optional(),
  name: z.string().optional(),
  content: Content.nullish(),
  output: z.unknown().optional(),
  tools: z.array(Tool).optional(),
});
const Body = z.looseObject({
  model: z.string(),
  instructions: z.string().nullish(),
  input: z.union([z.string(), z.array(Item)]),
  tools: z.array(Tool).optional(),
});

function read(raw: unknown): Conversation {
  const body = Body.parse(raw);
  const items = typeof body.input === "string" ? [{ role: "user", content: body.input }] : body.input;
  // What a tool search found stays callable, though it is never listed among the tools.
  const found = items.flatMap((item) => ("tools" in item ? (item.tools ?? []) : []));
  return { system: body.instructions ?? "", turns: items.map(turnOf), tools: [...(body.tools ?? []), ...found].flatMap(offered) };
}

function turnOf(item: z.infer<typeof Item>): Turn {
  const type = item.type ?? "message";
  if (type.endsWith("_call")) return { role: "assistant", text: "", calls: [item.name ?? type] };
  if (type.endsWith("_output")) return { role: "tool", text: JSON.stringify(item.output ?? ""), calls: [] };
  return { role: item.role === "assistant" ? "assistant" : "user", text: textOf(item.content ?? ""), calls: [] };
}

function textOf(content: z.infer<typeof Content>): string {
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("\n");
}

function offered(tool: z.infer<typeof Tool>): OfferedTool[] {
  if (tool.type === "namespace")
    return (tool.tools ?? []).map((inner) => ({ name: inner.name, namespace: tool.name ?? null, kind: "function" }));
  const kind = tool.type === "custom" ? "freeform" : tool.type === "tool_search" ? "search" : "function";
  return [{ name: tool.name ?? tool.type, namespace: null, kind }];
}

function answer(spoken: Spoken, request: { readonly body: unknown }): Answer {
  const body = Body.parse(request.body);
  const base = { id: nextId("resp"), object: "response", created_at: 1, model: body.model };
  const output = [...(spoken.say === "" ? [] : [messageItem(spoken.say)]), ...spoken.calls.map(callItem)];
  const usage = {
    input_tokens: 1000,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 1050,
  };
  return eventStream(
    [
      event("response.created", { response: { ...base, status: "in_progress", output: [] } }),
      ...output.map((item, output_index) =>
        [
          event("response.output_item.added", { output_index, item }),
          event("response.output_item.done", { output_index, item }),
        ].join(""),
      ),
      event("response.completed", { response: { ...base, status: "completed", output, usage } }),
    ].join(""),
  );
}

function messageItem(text: string): Readonly<Record<string, unknown>> {
  const content = [{ type: "output_text", text, annotations: [] }];
  return { type: "message", id: nextId("msg"), role: "assistant", status: "completed", content };
}

function callItem(call: ToolCall): Readonly<Record<string, unknown>> {
  if (call.tool.kind === "search")
    return { type: "tool_search_call", call_id: nextId("call"), status: "completed", execution: "client", arguments: call.args };
  const common = { call_id: nextId("call"), name: call.tool.name, status: "completed" };
  if (call.tool.kind === "freeform") return { type: "custom_tool_call", id: nextId("ctc"), ...common, input: call.args };
  const namespace = call.tool.namespace === null ? {} : { namespace: call.tool.namespace };
  return { type: "function_call", id: nextId("fc"), ...common, ...namespace, arguments: JSON.stringify(call.args) };
}

function event(type: string, data: Readonly<Record<string, unknown>>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}
