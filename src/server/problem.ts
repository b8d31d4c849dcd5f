import { ERROR_CODES, type ErrorCode } from "../run/errors.ts";
import type { FailedCall } from "../tools/call.ts";

/** Errors over HTTP are problem details (RFC 9457): tools' codes under their own names, and what only this door refuses. */

interface Kind {
  readonly status: number;
  readonly about: string;
}

const DOOR_KINDS = {
  unauthorized: { status: 401, about: "there is no token and no session, or not a valid one" },
  forbidden: { status: 403, about: "the request's host, origin or kind is not one that this server trusts" },
  not_found: { status: 404, about: "nothing has that address" },
  method_not_allowed: { status: 405, about: "the address takes other methods" },
  body_too_large: { status: 413, about: "the body is larger than this server reads" },
  unsupported_media_type: { status: 415, about: "the body is not application/json" },
  too_many_streams: { status: 503, about: "this server keeps as many event streams open as it can" },
} as const satisfies Record<string, Kind>;

const TOOL_KINDS: Readonly<Record<ErrorCode, Kind>> = {
  bad_input: { status: 400, about: ERROR_CODES.bad_input },
  run_not_found: { status: 404, about: ERROR_CODES.run_not_found },
  not_allowed: { status: 409, about: ERROR_CODES.not_allowed },
  already_running: { status: 409, about: ERROR_CODES.already_running },
  revision_conflict: { status: 412, about: ERROR_CODES.revision_conflict },
  confirm_token_invalid: { status: 409, about: ERROR_CODES.confirm_token_invalid },
  repository_problem: { status: 422, about: ERROR_CODES.repository_problem },
  agent_unknown: { status: 422, about: ERROR_CODES.agent_unknown },
  agent_unavailable: { status: 503, about: ERROR_CODES.agent_unavailable },
  store_unavailable: { status: 503, about: ERROR_CODES.store_unavailable },
  internal: { status: 500, about: ERROR_CODES.internal },
};

type DoorCode = keyof typeof DOOR_KINDS;
export type ProblemCode = ErrorCode | DoorCode;

/** Every kind of problem with its usual status, in a fixed order. */
export const PROBLEM_KINDS: Readonly<Record<ProblemCode, Kind>> = { ...TOOL_KINDS, ...DOOR_KINDS };

export const PROBLEM_MEDIA_TYPE = "application/problem+json";
/** The prefix of every `type`: stable, and not an address. */
export const PROBLEM_TYPE_PREFIX = "urn:loopkeeper:problem:";

/** Refused since the call comes from inside a run: who asks is the matter, not the run's state. */
const INSIDE_A_RUN = "inside_a_run";
const INSIDE_STATUS = 403;

export interface Problem {
  readonly code: ProblemCode;
  /** What happened, what is valid, what to do next. */
  readonly detail: string;
  /** Path of the request. */
  readonly instance: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The fixed first word of a refusal. */
  readonly refusal?: string | null;
}

const NEVER_KEPT = { "content-type": PROBLEM_MEDIA_TYPE, "cache-control": "no-store" };

export function problemResponse({ code, detail, instance, headers = {}, refusal = null }: Problem): Response {
  const kind = PROBLEM_KINDS[code];
  const status = refusal === INSIDE_A_RUN ? INSIDE_STATUS : kind.status;
  const body = {
    type: `${PROBLEM_TYPE_PREFIX}${code}`,
    title: kind.about,
    status,
    detail,
    instance,
    code,
    ...(refusal === null ? {} : { refusal }),
  };
  return new Response(`${JSON.stringify(body)}\n`, { status, headers: { ...NEVER_KEPT, ...headers } });
}

/** A failed call as a problem: `detail` is its text without the code, which has a field of its own. */
export function problemOf(failed: FailedCall, instance: string): Response {
  const { code, text, refusal } = failed;
  return problemResponse({ code, detail: text.replace(`${code}: `, ""), instance, refusal });
}
