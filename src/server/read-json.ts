import type { Context } from "hono";
import { problemResponse } from "./problem.ts";

/** Enough for a ticket in `updates`, and little enough for many at once. In bytes. */
const LARGEST_BODY = 1_048_576;

/** The request's JSON body, undefined when it has none; or the problem to answer with. */
export async function readJson(c: Context): Promise<unknown> {
  const instance = c.req.path;
  const bytes = await readBytes(c.req.raw, LARGEST_BODY);
  if (bytes === null)
    return problemResponse({
      code: "body_too_large",
      detail: `a body may have ${LARGEST_BODY} bytes.`,
      instance,
      // What is left of it is not read.
      headers: { connection: "close" },
    });
  if (bytes.byteLength === 0) return undefined;
  if (!/^application\/json\s*(;|$)/iu.test(c.req.header("content-type") ?? ""))
    return problemResponse({
      code: "unsupported_media_type",
      detail: "send the arguments as one JSON object, with Content-Type: application/json.",
      instance,
      headers: { accept: "application/json" },
    });
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return problemResponse({ code: "bad_input", detail: "the body is not JSON in UTF-8.", instance });
  }
}

/** A request's whole body; null when it is larger than `most` bytes. */
export async function readBytes(request: Request, most: number): Promise<Uint8Array<ArrayBuffer> | null> {
  if (Number(request.headers.get("content-length") ?? 0) > most) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > most) return null;
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}
