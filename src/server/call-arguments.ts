import { z } from "zod";
import { LoopkeeperError } from "../run/errors.ts";
import type { ToolRoute } from "./routes.ts";

/** A tool's one flat object of arguments out of a request's path, query, body and headers. */

type Arguments = Record<string, unknown>;

/** What of a request says something about a call. */
export interface CallRequest {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, readonly string[]>>;
  /** The parsed JSON body; undefined when there was none. */
  readonly body: unknown;
  readonly idempotency_key: string | undefined;
  readonly if_match: string | undefined;
}

/** Throws `bad_input` for what does not fit together; whether the arguments are right, the tool itself says. */
export function argumentsOf(route: ToolRoute, request: CallRequest): Arguments {
  const fromPath = Object.fromEntries(route.path_arguments.map((name) => [name, request.path[name] ?? ""]));
  if (route.method === "GET") return { ...queryArguments(route, request.query), ...fromPath };
  if (Object.keys(request.query).length > 0)
    throw new LoopkeeperError("bad_input", "this address takes no query; put the arguments into the JSON body.");
  const headers = { ...requestId(route, request), ...expectedRevision(route, request) };
  return { ...bodyArguments(request.body, { ...headers, ...fromPath }), ...headers, ...fromPath };
}

function queryArguments(route: ToolRoute, query: CallRequest["query"]): Arguments {
  return Object.fromEntries(
    Object.entries(query).map(([name, values]) => {
      if (route.path_arguments.includes(name))
        throw new LoopkeeperError("bad_input", `${name} is given by the path; leave it out of the query.`);
      const [value, ...more] = values;
      // Given twice it is a list, which the tool's schema refuses by name.
      return [name, more.length > 0 ? values : coerced(route.tool.input.shape[name], value ?? "")];
    }),
  );
}

/** Text of a query as the tool's own schema wants it; what cannot be read so stays text, and the schema says what is wrong. */
function coerced(schema: unknown, text: string): unknown {
  const plain = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  if (plain instanceof z.ZodNumber) return /^-?\d+(\.\d+)?$/u.test(text) ? Number(text) : text;
  if (plain instanceof z.ZodBoolean) return text === "true" ? true : text === "false" ? false : text;
  return text;
}

const objectSchema = z.record(z.string(), z.unknown());

/** `fixed` is what path and headers say: a body may repeat it and not contradict it. */
function bodyArguments(body: unknown, fixed: Arguments): Arguments {
  const parsed = objectSchema.safeParse(body === undefined ? {} : body);
  if (!parsed.success) throw new LoopkeeperError("bad_input", "the body is not a JSON object of arguments.");
  for (const [name, value] of Object.entries(fixed)) {
    const given = parsed.data[name];
    if (given !== undefined && given !== value)
      throw new LoopkeeperError("bad_input", `${name} in the body differs from what the path or a header says. Give it once.`);
  }
  return parsed.data;
}

/** Quoted, as the header's draft standard has it, or bare. */
function requestId(route: ToolRoute, { idempotency_key: key }: CallRequest): Arguments {
  if (key === undefined) return {};
  requireArgument(route, "request_id", "Idempotency-Key");
  return { request_id: /^"(.*)"$/u.exec(key)?.[1] ?? key };
}

function expectedRevision(route: ToolRoute, { if_match: match }: CallRequest): Arguments {
  if (match === undefined || match.trim() === "*") return {};
  requireArgument(route, "expected_revision", "If-Match");
  const revision = /^\s*"(\d{1,15})"\s*$/u.exec(match)?.[1];
  if (revision === undefined)
    throw new LoopkeeperError("bad_input", 'If-Match takes one revision of the run in quotes, e.g. "12", as ETag gave it.');
  return { expected_revision: Number(revision) };
}

function requireArgument(route: ToolRoute, argument: string, header: string): void {
  if (route.tool.input.shape[argument] === undefined)
    throw new LoopkeeperError("bad_input", `${header} says nothing here: ${route.tool.name} takes no ${argument}. Leave it out.`);
}
