import type { Conversation } from "./conversation.ts";
import type { Fault } from "./script.ts";
import type { ToolCall } from "./tool-call.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A reply whose calls name tools that the agent really offered. */
export interface Spoken {
  readonly think: string | null;
  readonly say: string;
  readonly calls: readonly ToolCall[];
}

/** One provider's way of asking and answering. */
export interface Dialect {
  readonly name: "anthropic" | "chat" | "responses" | "gemini";
  matches(path: string): boolean;
  read(body: unknown): Conversation;
  answer(spoken: Spoken, request: { readonly body: unknown; readonly path: string }): Answer;
  refuse(fault: Fault): Answer;
}

export function jsonAnswer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

export function eventStream(body: string): Answer {
  return { status: 200, headers: { "content-type": "text/event-stream", "cache-control": "no-cache" }, body };
}

let issued = 0;
/** Ids must differ over the life of the server: agents use them as keys of their session files. */
export function nextId(prefix: string): string {
  issued += 1;
  return `${prefix}_${issued.toString(36).padStart(8, "0")}`;
}

/** An hour from now in whole seconds since the epoch: when a spent usage window opens again. */
export function windowResetsAt(nowMs: number): number {
  return Math.floor(nowMs / 1000) + 3600;
}
