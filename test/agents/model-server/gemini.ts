import { z } from "zod";
import type { Conversation, Turn } from "./conversation.ts";
import { type Answer, type Dialect, eventStream, jsonAnswer, type Spoken } from "./dialect.ts";
import type { Fault } from "./script.ts";

/** Gemini generateContent and streamGenerateContent, as Gemini CLI asks. */
export const gemini: Dialect = {
  name: "gemini",
  matches: (path) => /:(stream)?generateContent$/i.test(path),
  read,
  answer,
  refuse,
};

const Part = z.looseObject({
  text: z.string().optional(),
  functionCall: z.looseObject({ name: z.string() }).optional(),
  functionResponse: z.looseObject({ response: z.unknown().optional() }).optional(),
});
const Parts = z.looseObject({ role: z.string().optional(), parts: z.array(Part).optional() });
const Body = z.looseObject({
  contents: z.array(Parts),
  systemInstruction: Parts.optional(),
  tools: z.array(z.looseObject({ functionDeclarations: z.array(z.looseObject({ name: z.string() })).optional() })).optional(),
});

function read(raw: unknown): Conversation {
  const body = Body.parse(raw);
  return {
    system: textOf(body.systemInstruction),
    turns: body.contents.map(turnOf),
    tools: (body.tools ?? [])
      .flatMap((tool) => tool.functionDeclarations ?? [])
      .map((tool) => ({ name: tool.name, namespace: null, kind: "function" })),
  };
}

function turnOf(content: z.infer<typeof Parts>): Turn {
  const parts = content.parts ?? [];
  const isResult = parts.some((part) => part.functionResponse !== undefined);
  return {
    role: content.role === "model" ? "assistant" : isResult ? "tool" : "user",
    text: textOf(content),
    calls: parts.flatMap((part) => (part.functionCall === undefined ? [] : [part.functionCall.name])),
  };
}

function textOf(content: z.infer<typeof Parts> | undefined): string {
  return (content?.parts ?? [])
    .map((part) => part.text ?? (part.functionResponse === undefined ? "" : JSON.stringify(part.functionResponse.response ?? "")))
    .join("\n");
}

function answer(spoken: Spoken, request: { readonly path: string }): Answer {
  const parts = [
    ...(spoken.think === null ? [] : [{ text: spoken.think, thought: true }]),
    ...(spoken.say === "" ? [] : [{ text: spoken.say }]),
    ...spoken.calls.map((call) => ({ functionCall: { name: call.tool.name, args: call.args } })),
  ];
  const body = {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 50, totalTokenCount: 1050 },
    modelVersion: "gemini-2.5-pro",
  };
  return /:stream/i.test(request.path) ? eventStream(`data: ${JSON.stringify(body)}\n\n`) : jsonAnswer(200, body);
}

function refuse(fault: Fault): Answer {
  const error = (code: number, status: string, message: string, details: readonly unknown[] = []) =>
    jsonAnswer(code, { error: { code, message, status, ...(details.length > 0 ? { details } : {}) } });
  switch (fault) {
    case "rate_limit":
      return error(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).");
    case "overloaded":
      return error(503, "UNAVAILABLE", "The model is overloaded. Please try again later.");
    case "no_credit":
      return error(402, "FAILED_PRECONDITION", "Payment required.");
    case "unauthorized":
      return error(401, "UNAUTHENTICATED", "API key not valid.");
    case "usage_window":
      return error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.", [
        {
          "@type": "type.googleapis.com/google.rpc.QuotaFailure",
          violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }],
        },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "3600s" },
      ]);
  }
}
