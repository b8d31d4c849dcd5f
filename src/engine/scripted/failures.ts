import { RequestError } from "@agentclientprotocol/sdk/unstable";
import type { Failure, FailureKind } from "./script.ts";

/** Shapes in which real agents tell that a turn failed. */
interface FailureShape {
  readonly code: number;
  readonly message: (resets: string) => string;
  readonly data: unknown;
  /** Category of the typed failure, for those told inside a normal end of turn. */
  readonly category: string;
}

const SHAPES = {
  rate_limit: {
    code: -32603,
    message: () => "API Error: 429 rate_limit_error: This request would exceed your account's rate limit.",
    data: { errorKind: "rate_limit" },
    category: "limit",
  },
  usage_limit: {
    code: -32603,
    message: (resets) => `You've hit your 5-hour limit · resets ${resets}`,
    data: { errorKind: "rate_limit" },
    category: "limit",
  },
  overloaded: {
    code: -32603,
    message: () => "API Error: 529 overloaded_error: Overloaded",
    data: { errorKind: "server_error" },
    category: "service",
  },
  credit: {
    code: -32603,
    message: () => "Credit balance is too low",
    data: { errorKind: "billing_error" },
    category: "limit",
  },
  auth: { code: -32000, message: () => "Authentication required", data: undefined, category: "auth" },
  context: {
    code: -32603,
    message: () => "Prompt is too long: context_length_exceeded",
    data: { codex_error_info: "context_window_exceeded" },
    category: "service",
  },
  connection: {
    code: -32603,
    message: () => "Connection dropped (ECONNRESET)",
    data: { errorKind: "server_error" },
    category: "connection",
  },
  turns: {
    code: -32603,
    message: () => "Reached maximum number of turns (3)",
    data: { errorKind: "unknown" },
    category: "service",
  },
  unknown: {
    code: -32603,
    message: () => "Internal error: something went wrong",
    data: { errorKind: "unknown" },
    category: "service",
  },
} as const satisfies Record<FailureKind, FailureShape>;

/** The JSON-RPC error of a failure. */
export function failureError(failure: Failure): RequestError {
  if ("code" in failure) return new RequestError(failure.code, failure.message, failure.data);
  const shape: FailureShape = SHAPES[failure.kind];
  return new RequestError(shape.code, messageFor(failure), shape.data);
}

/** The `_meta` of a prompt response that hides the failure behind a normal end of turn, or null when it is an error. */
export function hiddenFailure(failure: Failure): Record<string, unknown> | null {
  if ("code" in failure || !failure.hidden) return null;
  const { category } = SHAPES[failure.kind];
  return { jetbrains: { air: { sessionFailure: { category, severity: "error", title: messageFor(failure), actions: [] } } } };
}

function messageFor(failure: { readonly kind: FailureKind; readonly resets: string | null }): string {
  const shape: FailureShape = SHAPES[failure.kind];
  return shape.message(failure.resets ?? "5:45pm (UTC)");
}
