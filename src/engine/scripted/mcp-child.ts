import { createInterface } from "node:readline";
import { z } from "zod";
import { spawnSpoken } from "../process.ts";

/** How a client describes an MCP server that the agent is to start. */
export interface McpServerSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A running MCP server whose tools have been listed. */
export interface McpChild {
  readonly tools: readonly string[];
  /** Text of the tool's answer; throws when the server refuses or dies. */
  call(tool: string, input: unknown): Promise<string>;
}

const answerSchema = z.object({
  id: z.number(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});
const toolsSchema = z.object({ tools: z.array(z.object({ name: z.string() })) });
const callSchema = z.object({
  content: z.array(z.object({ text: z.string().optional() })).default([]),
  isError: z.boolean().optional(),
});

/** Starts the server, shakes hands and lists its tools, as real agents do at the start of a session. */
export async function startMcp(
  spec: McpServerSpec,
  place: { readonly cwd: string; readonly env: Record<string, string> },
): Promise<McpChild> {
  const child = spawnSpoken({ command: spec.command, args: spec.args, cwd: place.cwd, env: { ...place.env, ...spec.env } });
  const waiting = new Map<number, (answer: z.output<typeof answerSchema>) => void>();
  let next = 0;

  createInterface({ input: child.stdout }).on("line", (line) => {
    const parsed = parseAnswer(line);
    if (parsed !== null) waiting.get(parsed.id)?.(parsed);
  });

  const send = (message: object): void => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };
  const request = async (method: string, params: object): Promise<unknown> => {
    next += 1;
    const id = next;
    const answered = new Promise<z.output<typeof answerSchema>>((resolve) => waiting.set(id, resolve));
    send({ id, method, params });
    const answer = await Promise.race([answered, child.exited]);
    if (!("id" in answer)) throw new Error(`${spec.name} ended before it answered ${method}: ${child.stderrTail().slice(-500)}`);
    if (answer.error !== undefined) throw new Error(answer.error.message);
    return answer.result;
  };

  await request("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "scripted-agent", version: "1" },
  });
  send({ method: "notifications/initialized" });
  const listed = toolsSchema.parse(await request("tools/list", {}));

  return {
    tools: listed.tools.map((tool) => tool.name),
    async call(tool, input) {
      const answer = callSchema.parse(await request("tools/call", { name: tool, arguments: input }));
      const text = answer.content.map((part) => part.text ?? "").join("\n");
      if (answer.isError === true) throw new Error(text);
      return text;
    },
  };
}

function parseAnswer(line: string): z.output<typeof answerSchema> | null {
  try {
    const parsed = answerSchema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : null;
  } catch {
    // Whatever a server prints beside the protocol is not for us.
    return null;
  }
}
