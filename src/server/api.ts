import { type Context, Hono } from "hono";
import { accepts } from "hono/accepts";
import { z } from "zod";
import { LoopkeeperError } from "../run/errors.ts";
import type { Audience } from "../run/said.ts";
import { type CallResult, failureOf } from "../tools/call.ts";
import type { Tool } from "../tools/define-tool.ts";
import type { CallTool } from "../tools/runtime.ts";
import { argumentsOf, type CallRequest } from "./call-arguments.ts";
import { OWN_HEADER, OWN_PAGE } from "./guard.ts";
import { problemOf, problemResponse } from "./problem.ts";
import { readJson } from "./read-json.ts";
import { routerPath, routesOf, type ToolRoute } from "./routes.ts";

/** The tools over HTTP: every route of the table calls its tool as any other door does. */

export interface ApiDoor {
  readonly tools: readonly Tool[];
  readonly call: CallTool;
  /** Aborts when the server ends: what waits is answered then. */
  readonly ending: AbortSignal;
}

export function toolApi(door: ApiDoor): Hono {
  const app = new Hono();
  for (const route of routesOf(door.tools))
    app.on(route.method, routerPath(route.path), async (c) => {
      const request = await requestOf(c, route);
      if (request instanceof Response) return request;
      const audience = c.req.header(OWN_HEADER) === OWN_PAGE ? "page" : "agent";
      const result = await answered(door, route, request, { audience, gone: c.req.raw.signal });
      return result.ok ? success(c, route, result) : problemOf(result, c.req.path);
    });
  return app;
}

async function requestOf(c: Context, route: ToolRoute): Promise<CallRequest | Response> {
  const body = route.method === "GET" ? undefined : await readJson(c);
  if (body instanceof Response) return body;
  return {
    path: c.req.param(),
    query: c.req.queries(),
    body,
    idempotency_key: c.req.header("idempotency-key"),
    if_match: c.req.header("if-match"),
  };
}

/** A client that goes away ends its waiting and nothing else. */
async function answered(
  door: ApiDoor,
  route: ToolRoute,
  request: CallRequest,
  { audience, gone }: { readonly audience: Audience; readonly gone: AbortSignal },
): Promise<CallResult> {
  try {
    const signal = AbortSignal.any([gone, door.ending]);
    return await door.call(route.tool, argumentsOf(route, request), { audience, signal, progress: () => undefined });
  } catch (error) {
    if (!(error instanceof LoopkeeperError)) throw error;
    return failureOf(error, { audience });
  }
}

const answerSchema = z.looseObject({ run: z.looseObject({ run_id: z.string(), revision: z.number() }).optional() });

/** The structured answer as JSON, or the text for who asks for text. What made a run says where it is. */
function success(c: Context, route: ToolRoute, result: Extract<CallResult, { ok: true }>): Response {
  const { run } = answerSchema.parse(result.structured);
  if (run !== undefined) c.header("etag", `"${run.revision}"`);
  const created = route.tool.name === "coding_loop_start" && run !== undefined;
  if (created) c.header("location", `/api/runs/${run.run_id}`);
  const status = created ? 201 : 200;
  c.header("vary", "accept");
  const type = accepts(c, {
    header: "Accept",
    supports: ["application/json", "text/plain"],
    default: "application/json",
  });
  if (type === "text/plain") return c.text(`${result.text}\n`, status);
  return c.json(result.structured, status);
}

/** What is left when no route took the request: another method of a known path, or no such path. */
export function unknownAddress(c: Context, methods: readonly string[]): Response {
  const instance = c.req.path;
  if (methods.length === 0)
    return problemResponse({
      code: "not_found",
      detail: "nothing has this address. GET /api/openapi.json lists what there is.",
      instance,
    });
  const allow = methods.join(", ");
  return problemResponse({
    code: "method_not_allowed",
    detail: `${c.req.method} is not for this address; it takes ${allow}.`,
    instance,
    headers: { allow },
  });
}
