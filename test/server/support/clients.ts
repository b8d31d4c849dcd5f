import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client as ClassicClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as ClassicTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as ClassicHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

export interface Launch {
  readonly command: string;
  readonly args: string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { readonly progress: number; readonly message: string | undefined }) => void;
}

/** What the tests use of a client, the same for both lines of the SDK. */
export interface TestClient {
  readonly revision: string | undefined;
  readonly instructions: string | undefined;
  readonly pid: number | null;
  /** The tool definitions as they came over the wire. */
  listTools(): Promise<readonly ListedTool[]>;
  /** Checks structuredContent against the listed outputSchema, as real clients do. */
  callTool(name: string, args: Record<string, unknown>, options?: CallOptions): Promise<CalledTool>;
  /** The resource's texts. */
  readResource(uri: string): Promise<string>;
  close(): Promise<void>;
}

export interface ListedTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: { readonly [key: string]: unknown };
  readonly outputSchema?: { readonly [key: string]: unknown } | undefined;
  readonly annotations?: { readonly [key: string]: unknown } | undefined;
  readonly _meta?: { readonly [key: string]: unknown } | undefined;
}

export interface CalledTool {
  readonly isError: boolean;
  readonly text: string;
  readonly structured: unknown;
}

type ClassicWire = Parameters<ClassicClient["connect"]>[0];
type ModernWire = Parameters<ModernClient["connect"]>[0];

/** A client of the 2025 revisions: `@modelcontextprotocol/sdk`. */
async function classicOver(transport: ClassicWire, pid: () => number | null): Promise<TestClient> {
  const client = new ClassicClient({ name: "classic-test", version: "1.0.0" });
  await client.connect(transport);
  return {
    revision: "initialize",
    instructions: client.getInstructions(),
    pid: pid(),
    listTools: async () => (await client.listTools()).tools,
    callTool: async (name, args, options) =>
      toCalled(await client.callTool({ name, arguments: args }, undefined, requestOptions(options))),
    readResource: async (uri) => textsOf((await client.readResource({ uri })).contents),
    close: () => client.close(),
  };
}

/** A client of revision 2026-07-28: `@modelcontextprotocol/client`, pinned to it. */
async function modernOver(transport: ModernWire, pid: () => number | null): Promise<TestClient> {
  const client = new ModernClient(
    { name: "modern-test", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await client.connect(transport);
  return {
    revision: client.getNegotiatedProtocolVersion(),
    instructions: client.getInstructions(),
    pid: pid(),
    listTools: async () => (await client.listTools()).tools,
    callTool: async (name, args, options) => toCalled(await client.callTool({ name, arguments: args }, requestOptions(options))),
    readResource: async (uri) => textsOf((await client.readResource({ uri })).contents),
    close: () => client.close(),
  };
}

function connectClassic(launch: Launch): Promise<TestClient> {
  const transport = new ClassicTransport({ ...launch, stderr: "inherit" });
  return classicOver(transport, () => transport.pid);
}

function connectModern(launch: Launch): Promise<TestClient> {
  const transport = new ModernTransport({ ...launch, stderr: "inherit" });
  return modernOver(transport, () => transport.pid);
}

const withToken = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

/** The same clients over Streamable HTTP. */
export const HTTP_CLIENT_LINES = [
  {
    line: "a client of the 2025 revisions",
    connect: (url: URL, token: string): Promise<TestClient> => {
      const transport = new ClassicHttp(url, withToken(token));
      return classicOver(transport, () => null);
    },
  },
  {
    line: "a client of 2026-07-28",
    connect: (url: URL, token: string): Promise<TestClient> => modernOver(new ModernHttp(url, withToken(token)), () => null),
  },
] as const;

export const CLIENT_LINES = [
  { line: "a client of the 2025 revisions", connect: connectClassic },
  { line: "a client of 2026-07-28", connect: connectModern },
] as const;

function requestOptions(options: CallOptions | undefined) {
  const { signal, onProgress } = options ?? {};
  return {
    ...(signal === undefined ? {} : { signal }),
    ...(onProgress === undefined
      ? {}
      : {
          onprogress: (update: { progress: number; message?: string | undefined }) =>
            onProgress({ progress: update.progress, message: update.message }),
        }),
  };
}

function textsOf(contents: readonly object[]): string {
  return contents.map((part) => ("text" in part && typeof part.text === "string" ? part.text : "")).join("");
}

function toCalled(result: { readonly [key: string]: unknown }): CalledTool {
  const content: readonly unknown[] = Array.isArray(result["content"]) ? result["content"] : [];
  const texts = content.map((block) =>
    typeof block === "object" && block !== null && "text" in block && typeof block.text === "string" ? block.text : "",
  );
  return { isError: result["isError"] === true, text: texts.join("\n"), structured: result["structuredContent"] };
}
