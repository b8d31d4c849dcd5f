import type { StopSource } from "../run/run.ts";
import type { StopEvidence } from "./classify-stop-evidence.ts";
import { cleaned, reportsError, wholeErrorLine } from "./classify-stop-line.ts";
import { PROGRESS, statusesIn } from "./classify-stop-phrases.ts";
import { type Field, fieldsOf, jsonIn, parseJson, snakeCase } from "./classify-stop-walk.ts";

/** What all error channels of one turn say together, in the form that rules test. */
export interface ErrorFacts {
  /** Null when no channel reports an error: the turn ended normally as far as the engine goes. */
  readonly source: StopSource | null;
  /** Kinds, codes and class names, in snake case. */
  readonly tokens: ReadonlySet<string>;
  /** HTTP statuses, of fields and as texts name them. */
  readonly statuses: ReadonlySet<number>;
  /** The error texts, one after the other; nothing that a person, a model or a tool said. */
  readonly text: string;
  /** The error is of Google's kind: there the sentence about plan and billing means a daily window. */
  readonly google: boolean;
}

interface ErrorSeen {
  readonly source: StopSource;
  readonly text: string;
  readonly data: unknown;
}

const TOKEN_KEYS = new Set([
  "error_kind",
  "type",
  "code",
  "status",
  "reason",
  "codex_error_info",
  "error_name",
  "name",
  "terminal_reason",
  "stop_reason",
  "subtype",
  "kind",
  "category",
  "error",
  "error_type",
]);
const STATUS_KEYS = new Set([
  "code",
  "status",
  "status_code",
  "http_status_code",
  "http_status",
  "api_error_status",
  "error_status",
]);
const TEXT_KEYS = new Set([
  "message",
  "error",
  "error_message",
  "details",
  "detail",
  "title",
  "result",
  "body",
  "raw",
  "description",
  "reason",
  "details_message",
]);

/** Errors say what they are early; what is longer holds a page or a dump. */
const LONGEST_TEXT = 20_000;

export function errorFacts(evidence: StopEvidence): ErrorFacts {
  const seen = [
    ...ofAcpError(evidence),
    ...ofSessionFailure(evidence),
    ...ofFailedThread(evidence),
    ...ofExit(evidence),
    ...ofLastMessage(evidence),
  ];
  const fields = seen.flatMap((error) => fieldsOf([error.text, error.data]));
  const text = [...seen.map((error) => error.text), ...fields.filter(isErrorText).map((field) => String(field.value))]
    .map(withoutBody)
    .join("\n")
    .slice(0, LONGEST_TEXT);
  const tokens = new Set(fields.filter(isToken).map((field) => snakeCase(String(field.value).split(".").at(-1) ?? "")));
  const statuses = fields.filter((field) => STATUS_KEYS.has(field.key)).map((field) => Number(field.value));
  return {
    source: seen[0]?.source ?? null,
    tokens,
    statuses: new Set([...statuses, evidence.acp_error?.code ?? 0, ...statusesIn(text)].filter((n) => n >= 400 && n < 600)),
    text: text.replaceAll(/[’‘]/g, "'"),
    google:
      tokens.has("resource_exhausted") ||
      /googleapis\.com|ai\.google\.dev|cloud\.google\.com/.test(text + atTypes(fields)) ||
      evidence.agent_profile === "gemini",
  };
}

function ofAcpError({ acp_error }: StopEvidence): readonly ErrorSeen[] {
  return acp_error === null ? [] : [{ source: "acp_error", text: acp_error.message, data: acp_error.data }];
}

/** `warning` is a retry that may still succeed. */
function ofSessionFailure({ session_failure }: StopEvidence): readonly ErrorSeen[] {
  if (session_failure === null || session_failure.severity !== "error") return [];
  return [{ source: "stop_reason", text: session_failure.title, data: { category: session_failure.category } }];
}

/** The engine marks the turn or the message itself as failed: its last words are the error. */
function ofFailedThread(evidence: StopEvidence): readonly ErrorSeen[] {
  const marked = evidence.thread_status === "systemError" || evidence.last_message_by === "engine";
  return marked ? [{ source: "text", text: lastWords(evidence.last_message ?? ""), data: null }] : [];
}

/** A partial answer may stand before the error. */
function lastWords(message: string): string {
  const lines = cleaned(message.slice(-LONGEST_TEXT)).split("\n").slice(-12);
  for (let from = 0; from < lines.length; from += 1) {
    const error = wholeErrorLine(lines.slice(from).join("\n"));
    if (error !== null) return error.text;
  }
  return lines.findLast((line) => line.trim() !== "") ?? "";
}

/** Of a process that failed by itself: the end of its error output, and of its standard output only what is an error whole. */
function ofExit(evidence: StopEvidence): readonly ErrorSeen[] {
  const { exit } = evidence;
  if (exit === null || endedItsTurn(evidence) || (exit.code === 0 && evidence.acp_error === null)) return [];
  const killed = exit.signal !== null || exit.code === null || exit.code >= 124;
  const errorOutput = killed ? [] : lastLines(exit.stderr_tail).filter((line) => !PROGRESS.test(line));
  const output = killed ? [] : lastLines(evidence.last_message ?? "").filter((line) => errorOfLine(line));
  return [{ source: "exit", text: [...output.slice(-1), ...errorOutput].join("\n"), data: null }];
}

/** A turn that was answered is over; how the process ends afterwards says nothing about it. */
export function endedItsTurn(evidence: StopEvidence): boolean {
  return evidence.acp_stop_reason !== null && evidence.acp_error === null;
}

function lastLines(text: string): readonly string[] {
  return cleaned(text.slice(-LONGEST_TEXT))
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-8);
}

function errorOfLine(line: string): boolean {
  const frame = parseJson(line);
  return frame === undefined ? wholeErrorLine(line) !== null : reportsError(frame);
}

/** Agents hide failures behind a normal end of turn. Only a message that is an error from its first word to its last counts. */
function ofLastMessage(evidence: StopEvidence): readonly ErrorSeen[] {
  const clean =
    evidence.acp_error === null &&
    evidence.session_failure?.severity !== "error" &&
    (evidence.exit === null || evidence.exit.code === 0);
  if (!clean || evidence.last_message === null || evidence.last_message_by != null) return [];
  const error = wholeErrorLine(evidence.last_message);
  return error === null || goesOnSoon(error.text) ? [] : [{ source: "text", text: error.text, data: null }];
}

/** A retry that is announced for within ten minutes is progress; one for hours later is a spent window. */
function goesOnSoon(text: string): boolean {
  return PROGRESS.test(text) && !/\bretrying in (?:\d+\s?d|\d+\s?h|[1-9]\d+\s?m(?!s))/i.test(text);
}

function isToken(field: Field): boolean {
  return TOKEN_KEYS.has(field.key) && typeof field.value === "string" && /^[\w.-]{2,80}$/.test(field.value);
}

/** A body is read by its fields: as a text it would bring in what was asked of the model. */
function withoutBody(text: string): string {
  if (jsonIn(text).length === 0) return text;
  return text.slice(0, text.search(/[[{]/)) + text.slice(Math.max(text.lastIndexOf("}"), text.lastIndexOf("]")) + 1);
}

function isErrorText(field: Field): boolean {
  return TEXT_KEYS.has(field.key) && typeof field.value === "string" && !/^[a-z]+[_A-Z]\w*$/.test(field.value);
}

function atTypes(fields: readonly Field[]): string {
  return fields
    .filter((field) => field.key === "@type")
    .map((field) => String(field.value))
    .join(" ");
}
