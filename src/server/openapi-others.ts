import { RUN_STREAM, RUNS_STREAM } from "./stream-paths.ts";

/** The addresses under /api that are no tools, as the OpenAPI document describes them. */

type Json = Readonly<Record<string, unknown>>;

export interface OtherOperation {
  readonly path: string;
  readonly method: "GET" | "POST" | "DELETE";
  readonly operation_id: string;
  readonly summary: string;
  readonly parameters?: readonly Json[];
  readonly body?: Json;
  /** Successful responses by status. */
  readonly responses: Readonly<Record<string, Json>>;
  /** Asks for no token. */
  readonly open?: boolean;
}

const EXPIRES = {
  description: "The session holds until then.",
  content: {
    "application/json": {
      schema: {
        type: "object",
        properties: { expires_at: { type: ["string", "null"], description: "ISO 8601 UTC; null for a caller with a token." } },
        required: ["expires_at"],
        additionalProperties: false,
      },
    },
  },
};

const STREAM = {
  description: "Server-sent events, until the client or the server ends.",
  content: { "text/event-stream": { schema: { type: "string" } } },
};

const LAST_EVENT_ID = {
  name: "Last-Event-ID",
  in: "header",
  description: "The id of the last message that was seen: the stream goes on after it.",
  schema: { type: "string" },
};
const AFTER = { ...LAST_EVENT_ID, name: "after", in: "query", description: "Last-Event-ID for clients that cannot set it." };

export const OTHER_OPERATIONS: readonly OtherOperation[] = [
  {
    path: RUNS_STREAM,
    method: "GET",
    operation_id: "stream_runs",
    summary:
      "Runs as they change: `ready` with the present place, after which the list can be loaded, then {position, archived_at, run} for each change",
    parameters: [LAST_EVENT_ID, AFTER],
    responses: { "200": STREAM },
  },
  {
    path: RUN_STREAM,
    method: "GET",
    operation_id: "stream_run",
    summary:
      "A run's events {seq, type, at, data} from the first on; with transcript=1 also its entries as they come, as `transcript`",
    parameters: [
      { name: "run_id", in: "path", required: true, description: "The run.", schema: { type: "string" } },
      LAST_EVENT_ID,
      AFTER,
      {
        name: "transcript",
        in: "query",
        description: "1: the transcript's entries too.",
        schema: { enum: ["1", "0", "true", "false"] },
      },
      {
        name: "transcript_after",
        in: "query",
        description: "Entries after this number; left out, those that come from now on.",
        schema: { type: "integer", minimum: 0 },
      },
    ],
    responses: { "200": STREAM },
  },
  {
    path: "/api/session",
    method: "POST",
    operation_id: "begin_session",
    summary: "Exchange the token for a browser's session, as a cookie",
    body: {
      type: "object",
      properties: { token: { type: "string", minLength: 1 } },
      required: ["token"],
      additionalProperties: false,
    },
    responses: {
      "200": { ...EXPIRES, headers: { "Set-Cookie": { description: "The session.", schema: { type: "string" } } } },
    },
    open: true,
  },
  {
    path: "/api/session",
    method: "GET",
    operation_id: "get_session",
    summary: "Until when the session holds",
    responses: { "200": EXPIRES },
  },
  {
    path: "/api/session",
    method: "DELETE",
    operation_id: "end_session",
    summary: "Forget the session's cookie",
    responses: { "204": { description: "The cookie is gone." } },
  },
  {
    path: "/api/openapi.json",
    method: "GET",
    operation_id: "get_openapi",
    summary: "This document",
    responses: { "200": { description: "OpenAPI 3.1", content: { "application/json": { schema: { type: "object" } } } } },
  },
];
