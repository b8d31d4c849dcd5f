import type { RequestPermissionResponse } from "@agentclientprotocol/sdk/unstable";
import { z } from "zod";
import { redact } from "../redact/redact.ts";
import { decide, type PermissionAsk, type PermissionPolicy, subjectOf } from "./permissions.ts";
import { markActivity, type SessionState } from "./session-state.ts";
import { mergeToolCall } from "./tool-calls.ts";
import { type PermissionRequest, permissionRequestSchema } from "./updates.ts";

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

/** Answers a permission request by the run's level; one that needs a person is cancelled and ends the turn. */
export function answerPermission(state: SessionState, params: unknown): RequestPermissionResponse {
  markActivity(state);
  state.launch.listener.answered();
  const parsed = permissionRequestSchema.safeParse(params);
  if (!parsed.success) {
    state.journal.other("session/request_permission", params);
    return CANCELLED;
  }
  const ask = askOf(state, parsed.data);
  if (state.escalation !== null) return hold(state, parsed.data);

  const decision = decide(policyOf(state), ask);
  const shown = { command: ask.command, kind: ask.kind, title: ask.title, allowed: decision.allowed };
  state.journal.permission(`${decision.allowed ? "allowed" : "asks a person"}: ${subjectOf(ask)}`, shown);
  if (decision.allowed) {
    if (decision.used_once) state.allow_once = null;
    return allow(parsed.data);
  }
  state.escalation = {
    kind: "permission",
    text: `The engine asks to ${ask.kind === "execute" ? "run" : "do"}: ${ask.title}`,
    command: decision.subject,
  };
  state.onEscalation();
  return hold(state, parsed.data);
}

function hold(state: SessionState, { toolCall }: PermissionRequest): RequestPermissionResponse {
  const call = mergeToolCall(state.calls.get(toolCall.toolCallId), toolCall, state.profile.quirks);
  state.calls.set(call.id, { ...call, held: true });
  return CANCELLED;
}

/** The request merged with what earlier updates told of the same tool call, as a person will be shown it. */
function askOf(state: SessionState, request: PermissionRequest): PermissionAsk {
  const { quirks } = state.profile;
  const call = mergeToolCall(state.calls.get(request.toolCall.toolCallId), request.toolCall, quirks);
  // Codex calls the approval of an MCP tool `execute` too.
  const isMcp = request._meta?.is_mcp_tool_approval === true;
  // Redacted, since the question is stored so and an exact answer is compared with what was stored.
  return {
    kind: isMcp ? "other" : call.kind,
    title: redact(call.title),
    command: call.command === null ? null : redact(call.command),
    paths: call.paths,
    mcp_server: isMcp ? (mcpInputSchema.safeParse(call.raw_input).data?.serverName ?? null) : null,
    bookkeeping: quirks.bookkeeping?.test(call.title) ?? false,
  };
}

const mcpInputSchema = z.looseObject({ serverName: z.string() });

function policyOf(state: SessionState): PermissionPolicy {
  const { permissions, cwd, allow, allowed_commands } = state.launch;
  return { level: permissions, cwd, allow, allowed_commands, allow_once: state.allow_once };
}

// `allow_always` last: some engines write it into a settings file of the repository.
function allow(request: PermissionRequest): RequestPermissionResponse {
  const option = ["allow_once", "allow_always"].flatMap((kind) => request.options.filter((one) => one.kind === kind))[0];
  return option === undefined ? CANCELLED : { outcome: { outcome: "selected", optionId: option.optionId } };
}
