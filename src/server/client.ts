import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { z } from "zod";

/** A real MCP client over stdio, as any editor or agent would be one. */
export interface StoryClient {
  call(tool: string, args: Readonly<Record<string, unknown>>): Promise<StoryAnswer>;
  close(): Promise<void>;
}

const answerSchema = z.looseObject({
  summary: z.string(),
  run: z.looseObject({
    run_id: z.string(),
    state: z.string(),
    stop_reason: z.string().nullable(),
    iteration: z.number(),
    max_iterations: z.number(),
    revision: z.number(),
    workspace: z.object({ kind: z.string(), path: z.string() }),
    repository: z.looseObject({ branch: z.string().nullable() }),
  }),
  explanation: z.unknown().optional(),
  resumed: z.looseObject({ context: z.string(), note: z.string() }).nullish(),
  take_over: z.looseObject({ commands: z.array(z.string()) }).nullish(),
  timed_out: z.boolean().optional(),
});
export type StoryAnswer = z.infer<typeof answerSchema>;

export async function connectClient(options: {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}): Promise<StoryClient> {
  const client = new Client({ name: "loopkeeper-client", version: "1" });
  await client.connect(
    new StdioClientTransport({
      command: options.command,
      args: [...options.args],
      env: { ...options.env },
      cwd: options.cwd,
      stderr: "inherit",
    }),
  );
  return {
    async call(tool, args) {
      const result = await client.callTool({ name: tool, arguments: { ...args } }, { timeout: 300_000 });
      if (result.isError === true) throw new Error(textOf(result.content));
      return answerSchema.parse(result.structuredContent);
    },
    close: () => client.close(),
  };
}

function textOf(content: unknown): string {
  const parsed = z.array(z.looseObject({ text: z.string().optional() })).safeParse(content);
  return parsed.success ? parsed.data.map((part) => part.text ?? "").join("\n") : "the call failed";
}
