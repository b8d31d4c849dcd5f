import { z } from "zod";
import type { Conversation } from "./conversation.ts";
import { type Answer, type Dialect, eventStream, jsonAnswer, nextId, type Spoken } from "./dialect.ts";
import { refuseLikeOpenAi } from "./openai-faults.ts";

/** OpenAI Chat Completions, as opencode asks. */
export const chat: Dialect = {
  name: "chat",
  matches: (path) => path.endsWith("/chat/completions"),
  read,
  answer,
  refuse: refuseLikeOpenAi,
};

const Content = z.union([z.string(), z.null(), z.array(z.looseObject({ text: z.string().optional() }))]).optional();
const Named = z.looseObject({ function: z.looseObject({ name: z.string() }) });
const Body = z.looseObject({
  model: z.string(),
  stream: z.boolean().optional(),
  messages: z.array(z.looseObject({ role: z.string(), content: Content, tool_calls: z.array(Named).optional() })),
  tools: z.array(Named).optional(),
});

function read(raw: unknown): Conversation {
  const body = Body.parse(raw);
  const system = body.messages.filter((message) => message.role === "system");
  return {
    system: system.map((message) => textOf(message.content)).join("\n"),
    turns: body.messages
      .filter((message) => message.role !== "system")
      .map((message) => ({
        role: message.role === "assistant" || message.role === "tool" ? message.role : ("user" as const),
        text: textOf(message.content),
        calls: (message.tool_calls ?? []).map((call) => call.function.name),
      })),
    tools: (body.tools ?? []).map((tool) => ({ name: tool.function.name, namespace: null, kind: "function" })),
  };
}

function textOf(content: z.infer<typeof Content>): string {
  if (content === null || content === undefined) return "";
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("\n");
}

function answer(spoken: Spoken, request: { readonly body: unknown }): Answer {
  const body = Body.parse(request.body);
  const base = { id: nextId("chatcmpl"), created: 1, model: body.model };
  const usage = { prompt_tokens: 1000, completion_tokens: 50, total_tokens: 1050 };
  const tool_calls = spoken.calls.map((call, index) => ({
    index,
    id: nextId("call"),
    type: "function",
    function: { name: call.tool.name, arguments: JSON.stringify(call.args) },
  }));
  const finish_reason = tool_calls.length > 0 ? "tool_calls" : "stop";
  if (body.stream !== true) {
    const message = { role: "assistant", content: spoken.say, ...(tool_calls.length > 0 ? { tool_calls } : {}) };
    return jsonAnswer(200, { ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage });
  }

  const chunk = (rest: unknown) => `data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", ...Object(rest) })}\n\n`;
  const choice = (delta: unknown, finish: string | null = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason: finish }] });
  return eventStream(
    [
      choice({ role: "assistant", content: "" }),
      spoken.think === null ? "" : choice({ reasoning_content: spoken.think }),
      spoken.say === "" ? "" : choice({ content: spoken.say }),
      tool_calls.length === 0 ? "" : choice({ tool_calls }),
      choice({}, finish_reason),
      chunk({ choices: [], usage }),
      "data: [DONE]\n\n",
    ].join(""),
  );
}
