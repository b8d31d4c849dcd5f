import { isCompactionKind, saysCompacted, shrank } from "./compaction.ts";
import { isOpen } from "./engine.ts";
import { markActivity, type SessionState } from "./session-state.ts";
import { mergeToolCall, type ToolCallState, withoutOutput } from "./tool-calls.ts";
import {
  chunkSchema,
  type Meta,
  planSchema,
  toolUpdateSchema,
  type Update,
  updateNotificationSchema,
  usageUpdateSchema,
} from "./updates.ts";

/** Takes in one notification of the engine: state for the turn, entries for the journal. Never throws for odd content. */
export function receive(state: SessionState, method: string, params: unknown): void {
  markActivity(state);
  const parsed = method === "session/update" ? updateNotificationSchema.safeParse(params) : null;
  if (parsed === null || !parsed.success) {
    if (state.phase === "open") state.journal.other(method, params);
    return;
  }
  const { update } = parsed.data;
  if (state.phase === "opening") {
    if (REPLAYED.has(update.sessionUpdate)) state.replayed += 1;
    if (update.sessionUpdate === "user_message_chunk") lookInto(state, update);
    return;
  }
  if (ANSWERS.has(update.sessionUpdate)) state.launch.listener.answered();
  if (update._meta) readMeta(state, update._meta);
  readUpdate(state, update);
}

// What shows that a loaded session has a past; lists of commands and modes come for an empty one too.
const REPLAYED = new Set(["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "plan"]);

// Only an engine that works on a prompt sends these.
const ANSWERS = new Set(["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"]);

/** A prompt may come back in pieces: what is looked for is found over their borders too. */
function lookInto(state: SessionState, update: Update): void {
  const text = chunkSchema.safeParse(update).data?.content.text;
  if (text === undefined || state.look_for.length === 0) return;
  const seen = state.replayed_tail + text;
  for (const wanted of state.look_for) if (seen.includes(wanted)) state.found.add(wanted);
  state.replayed_tail = seen.slice(-LONGEST_LOOKED_FOR);
}

const LONGEST_LOOKED_FOR = 200;

/** Vendor facts that decide how the turn ended; the last one counts. */
export function readMeta(state: SessionState, meta: Meta): void {
  const rate = meta["_claude/rateLimit"];
  if (rate !== undefined) state.rate_limit = { status: rate.status, resets_at_epoch: rate.resetsAt ?? null };
  const status = meta.codex?.threadStatus;
  if (status !== undefined) state.thread_status = typeof status === "string" ? status : status.type;
  const failure = meta.jetbrains?.air?.sessionFailure;
  // A warning tells of a retry: the engine is at work, nothing has ended.
  if (failure?.severity === "error") {
    state.session_failure = { category: failure.category, severity: failure.severity, title: failure.title };
  }
}

function readUpdate(state: SessionState, update: Update): void {
  if (understood(state, update)) return;
  state.journal.other(update.sessionUpdate, update);
  if (isCompactionKind(update.sessionUpdate)) state.journal.compacted(`it said so (${update.sessionUpdate.slice(0, 60)})`);
}

/** False for a kind or a shape that is not known. */
function understood(state: SessionState, update: Update): boolean {
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
      return readChunk(state, "message", update);
    case "agent_thought_chunk":
      return readChunk(state, "thought", update);
    case "tool_call":
    case "tool_call_update":
      return readToolCall(state, update);
    case "plan":
      return readPlan(state, update);
    case "usage_update":
      return readUsage(state, update);
    default:
      return false;
  }
}

function readChunk(state: SessionState, kind: "message" | "thought", update: Update): boolean {
  const text = chunkSchema.safeParse(update).data?.content.text;
  if (text === undefined || state.profile.quirks.noise?.test(text)) return false;
  if (kind === "message" && saysCompacted(text)) state.journal.compacted("it said so");
  if (kind === "message") state.last_message = (state.last_message + text).slice(-8192);
  state.journal.chunk(kind, text);
  return true;
}

function readToolCall(state: SessionState, update: Update): boolean {
  const parsed = toolUpdateSchema.safeParse(update);
  if (!parsed.success) return false;
  const before = state.calls.get(parsed.data.toolCallId);
  const call = mergeToolCall(before, parsed.data, state.profile.quirks);
  state.calls.set(call.id, call);
  state.last_message = "";
  if (before === undefined || tellsMore(before, call)) state.journal.toolCall(call);
  // Output that grows with each update is only kept as it is at the end.
  if (!isOpen(call) && (before === undefined || isOpen(before))) {
    state.journal.toolResult(call);
    state.calls.set(call.id, withoutOutput(call));
  }
  const plan = state.profile.planFrom?.(parsed.data) ?? null;
  if (plan !== null) state.journal.plan(plan);
  return true;
}

function readPlan(state: SessionState, update: Update): boolean {
  const plan = planSchema.safeParse(update);
  if (plan.success) state.journal.plan(plan.data.entries);
  return plan.success;
}

function readUsage(state: SessionState, update: Update): boolean {
  const usage = usageUpdateSchema.safeParse(update);
  const cost = usage.data?.cost;
  if (cost && (cost.currency ?? "USD") === "USD") state.session_cost_usd = cost.amount;
  readContext(state, usage.data?.used, usage.data?.size);
  if (usage.success) state.journal.usage(update);
  return usage.success;
}

function readContext(state: SessionState, used: number | undefined, size: number | undefined): void {
  if (used === undefined || size === undefined) return;
  if (shrank(state.context_used, used, size))
    state.journal.compacted(`its context went from ${state.context_used} to ${used} tokens`);
  state.context_used = used;
}

function tellsMore(before: ToolCallState, after: ToolCallState): boolean {
  return before.title !== after.title || JSON.stringify(before.raw_input) !== JSON.stringify(after.raw_input);
}
