import {
  type CallToolResult,
  McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
  type ServerContext,
  type ToolAnnotations,
} from "@modelcontextprotocol/server";
import { LoopkeeperError } from "../run/errors.ts";
import type { CallResult } from "../tools/call.ts";
import type { Caller } from "../tools/context.ts";
import type { Tool } from "../tools/define-tool.ts";
import type { RunResource } from "../tools/resources.ts";
import type { CallTool, ReadResource } from "../tools/runtime.ts";
import { instructionsFor } from "./instructions.ts";
import { listedSchema } from "./listed-schema.ts";
import { registerPrompts } from "./prompts.ts";

/** What an MCP server of Loopkeeper is made of. */
export interface McpDoor {
  readonly tools: readonly Tool[];
  readonly version: string;
  readonly call: CallTool;
  /** What has an address beside the tools; left out, no resources are offered. */
  readonly resources?: { readonly list: readonly RunResource[]; readonly read: ReadResource };
}

/** Tools that a client should keep in view even when it loads tools by search. */
const ALWAYS_LOADED: readonly string[] = ["coding_loop_start", "run_status", "run_wait"];
/** The tool list changes only with the program: clients and prompt caches may keep it. */
const LIST_CACHE = { ttlMs: 3_600_000, cacheScope: "public" } as const;

/** One MCP server instance over the array of tools; answers the 2025 revisions and 2026-07-28 alike. */
export function createMcpServer(door: McpDoor): McpServer {
  const server = new McpServer(
    { name: "loopkeeper", title: "Loopkeeper", version: door.version },
    {
      instructions: instructionsFor(door.tools.map((tool) => tool.name)),
      capabilities: {
        prompts: { listChanged: false },
        tools: { listChanged: false },
        ...(door.resources === undefined ? {} : { resources: { listChanged: false } }),
      },
      cacheHints: { "tools/list": LIST_CACHE },
    },
  );
  for (const tool of door.tools) registerTool(server, tool, door.call);
  registerPrompts(server);
  const { resources } = door;
  if (resources !== undefined) for (const resource of resources.list) registerResource(server, resource, resources.read);
  return server;
}

function registerTool(server: McpServer, tool: Tool, call: CallTool): void {
  server.registerTool(
    tool.name,
    {
      title: tool.title,
      description: tool.description,
      inputSchema: listedSchema(tool.input),
      outputSchema: listedSchema(tool.output),
      annotations: annotationsOf(tool),
      ...(ALWAYS_LOADED.includes(tool.name) ? { _meta: { "anthropic/alwaysLoad": true } } : {}),
    },
    async (args: unknown, ctx: ServerContext) => toMcpResult(await call(tool, args, callerOf(ctx))),
  );
}

/** Runs are not listed as resources: run_list does that, with filters. */
function registerResource(server: McpServer, resource: RunResource, read: ReadResource): void {
  server.registerResource(
    resource.name,
    new ResourceTemplate(`loopkeeper://runs/{run_id}/${resource.template}`, { list: undefined }),
    { title: resource.title, description: resource.description, mimeType: resource.mime_type },
    async (uri, variables, ctx) => {
      const single = Object.entries(variables).map(
        ([name, value]) => [name, Array.isArray(value) ? value.join(",") : value] as const,
      );
      const text = await readOrNotFound(uri, () => read(resource, Object.fromEntries(single), callerOf(ctx)));
      return { contents: [{ uri: uri.href, mimeType: resource.mime_type, text }] };
    },
  );
}

/** Clients know a missing resource by its protocol error. */
async function readOrNotFound(uri: URL, read: () => Promise<string>): Promise<string> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof LoopkeeperError && error.code === "run_not_found")
      throw new ResourceNotFoundError(uri.href, error.message);
    throw error;
  }
}

function annotationsOf(tool: Tool): ToolAnnotations {
  return {
    title: tool.title,
    readOnlyHint: tool.effect === "read",
    destructiveHint: tool.effect === "destructive",
    idempotentHint: tool.idempotent,
    openWorldHint: tool.openWorld,
  };
}

/** The caller's side of one call: its cancellation, and progress when it asked for it with a token. */
function callerOf(ctx: ServerContext): Caller {
  const { signal, _meta } = ctx.mcpReq;
  const progressToken = _meta?.progressToken;
  return {
    audience: "agent",
    signal,
    progress: (update) => {
      if (progressToken === undefined || signal.aborted) return;
      // A client that went away is noticed through the signal; its lost progress is nobody's error.
      ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, ...update } }).catch(() => undefined);
    },
  };
}

/** The only mapper to `isError`. Errors carry no structuredContent: one client would show that instead of the text. */
function toMcpResult(result: CallResult): CallToolResult {
  if (!result.ok) return { isError: true, content: [{ type: "text", text: result.text }] };
  return { content: [{ type: "text", text: result.text }], structuredContent: result.structured };
}
