import { z } from "zod";
import type { ToolCallSeen } from "./engine.ts";
import type { ToolUpdate } from "./updates.ts";

/** What is known of one tool call: each update overwrites only what it names. */
export interface ToolCallState extends ToolCallSeen {
  readonly raw_input: unknown;
  readonly output: ToolOutput;
}

/** What a tool printed, from its beginning up to a limit, and how much it was in all. */
export interface ToolOutput {
  readonly head: string;
  readonly bytes: number;
}

// Held until the call ends, since a text is redacted as a whole before it is stored; a longer one would keep the driver from
// renewing its lease meanwhile.
const HEAD_CHARACTERS = 16_777_216;
const NO_OUTPUT: ToolOutput = { head: "", bytes: 0 };

/** Merges an update into the state known so far. */
export function mergeToolCall(
  before: ToolCallState | undefined,
  update: ToolUpdate,
  quirks: { readonly commandIsTitle?: true } = {},
): ToolCallState {
  const rawInput = update.rawInput ?? before?.raw_input;
  const title = update.title ?? before?.title ?? update.toolCallId;
  const kind = update.kind ?? before?.kind ?? null;
  const titled = quirks.commandIsTitle === true && kind === "execute" ? title : null;
  return {
    id: update.toolCallId,
    title,
    kind,
    command: commandOf(rawInput) ?? before?.command ?? titled,
    paths: mergePaths(before?.paths ?? [], pathsOf(update, rawInput)),
    status: statusOf(update.status) ?? before?.status ?? "pending",
    held: before?.held ?? false,
    raw_input: rawInput,
    output: outputOfUpdate(update, before?.output ?? NO_OUTPUT),
  };
}

/** The call without its output, which is in the journal by now: a turn of many long outputs must not hold them all. */
export function withoutOutput(call: ToolCallState): ToolCallState {
  return { ...call, output: { head: "", bytes: call.output.bytes } };
}

const commandSchema = z.union([
  z.looseObject({ command: z.union([z.string(), z.array(z.string())]) }).transform((input) => input.command),
  z.looseObject({ cmd: z.union([z.string(), z.array(z.string())]) }).transform((input) => input.cmd),
]);

/** The shell command that a tool's raw input names, or null. `["bash", "-lc", "ls"]` is `ls`. */
function commandOf(rawInput: unknown): string | null {
  const parsed = commandSchema.safeParse(rawInput);
  if (!parsed.success) return null;
  if (typeof parsed.data === "string") return parsed.data;
  const [shell = "", flag = "", script] = parsed.data;
  const wrapped = parsed.data.length === 3 && /(^|\/)(ba|z|da)?sh$/.test(shell) && /^-l?c$/.test(flag);
  return wrapped && script !== undefined ? script : parsed.data.join(" ");
}

const pathKeys = ["file_path", "filePath", "path", "abs_path", "notebook_path", "filepath"] as const;
const recordSchema = z.record(z.string(), z.unknown());

function pathsOf(update: ToolUpdate, rawInput: unknown): readonly string[] {
  const input = recordSchema.safeParse(rawInput).data ?? {};
  const named = pathKeys.flatMap((key) => (typeof input[key] === "string" ? [input[key]] : []));
  // A patch of several files, keyed by path.
  const changes = Object.keys(recordSchema.safeParse(input["changes"]).data ?? {});
  const located = (update.locations ?? []).map((location) => location.path);
  const differing = (update.content ?? []).flatMap((part) =>
    part.type === "diff" && part.path !== undefined ? [part.path] : [],
  );
  return [...named, ...changes, ...located, ...differing];
}

function mergePaths(before: readonly string[], after: readonly string[]): readonly string[] {
  return [...new Set([...before, ...after])];
}

function statusOf(status: string | null | undefined): ToolCallSeen["status"] | null {
  switch (status) {
    case "pending":
    case "in_progress":
    case "completed":
    case "failed":
      return status;
    default:
      return null;
  }
}

const rawOutputSchema = z.looseObject({
  output: z.string().optional(),
  stdout: z.string().optional(),
  stderr: z.string().optional(),
  aggregated_output: z.string().optional(),
  formatted_output: z.string().optional(),
});

function outputOfUpdate(update: ToolUpdate, before: ToolOutput): ToolOutput {
  const delta = update._meta?.terminal_output_delta?.data;
  if (delta !== undefined) return appended(before, delta);
  const whole = update._meta?.terminal_output?.data ?? wholeOutput(update);
  return whole === null ? before : appended(NO_OUTPUT, whole);
}

function appended({ head, bytes }: ToolOutput, text: string): ToolOutput {
  const room = HEAD_CHARACTERS - head.length;
  return { head: room > 0 ? head + text.slice(0, room) : head, bytes: bytes + Buffer.byteLength(text) };
}

function wholeOutput(update: ToolUpdate): string | null {
  const texts = (update.content ?? []).flatMap((part) => (part.content?.text === undefined ? [] : [part.content.text]));
  if (texts.length > 0) return texts.join("\n");
  if (typeof update.rawOutput === "string") return update.rawOutput;
  const parsed = rawOutputSchema.safeParse(update.rawOutput);
  if (!parsed.success) return null;
  const { output, aggregated_output, formatted_output, stdout, stderr } = parsed.data;
  const streams = [stdout, stderr].filter((text) => text !== undefined && text !== "");
  return output ?? aggregated_output ?? formatted_output ?? (streams.length > 0 ? streams.join("\n") : null);
}
