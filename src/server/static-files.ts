import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import type { Context } from "hono";
import { getMimeType } from "hono/utils/mime";
import { systemCode } from "../run/errors.ts";

const NO_CONSOLE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Loopkeeper</title>
<h1>Loopkeeper is serving</h1>
<p>This build has no console. The REST API is under <code>/api</code> (<a href="/api/openapi.json">OpenAPI document</a>, with the token), MCP at <code>/mcp</code>.</p>
</html>
`;

/** Built files carry a hash in their name: what was fetched once under it never changes. */
const HASHED = /^\/assets\/.*[-.][\w-]{8,}\.\w+$/u;

/**
 * A file of the console, or its page for every address without a file ending: the page itself knows what /runs/... is. They
 * hold no data of runs, so they need no token.
 */
export async function consoleFiles(c: Context, folder: string): Promise<Response> {
  const path = decodedPath(c.req.path);
  if (path === null) return c.notFound();
  const isFile = extname(path) !== "";
  const bytes = await read(join(folder, isFile ? path : "index.html"));
  if (bytes === null) return isFile ? c.notFound() : c.html(NO_CONSOLE, path === "/" ? 200 : 404);
  const type = getMimeType(isFile ? path : "index.html") ?? "application/octet-stream";
  return c.body(new Uint8Array(bytes), 200, {
    "content-type": type,
    "cache-control": HASHED.test(path) ? "public, max-age=31536000, immutable" : "no-cache",
  });
}

/** Null for what leads out of the folder or names a hidden file. */
function decodedPath(raw: string): string | null {
  try {
    const path = decodeURIComponent(raw);
    const plain = normalize(path) === path && !path.includes("\0") && !path.includes("\\");
    return plain && !path.split("/").some((part) => part.startsWith(".")) ? path : null;
  } catch {
    return null;
  }
}

async function read(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (["ENOENT", "EISDIR", "ENOTDIR"].includes(systemCode(error) ?? "")) return null;
    throw error;
  }
}
