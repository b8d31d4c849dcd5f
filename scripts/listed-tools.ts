import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { createMcpServer } from "../src/server/mcp.ts";
import type { Tool } from "../src/tools/define-tool.ts";

type ListToolsResult = Awaited<ReturnType<Client["listTools"]>>;
/** A tool as a client sees it. */
export type ListedTool = ListToolsResult["tools"][number];

/** The answer to tools/list as it goes over the wire. */
export async function listTools(tools: readonly Tool[]): Promise<readonly ListedTool[]> {
  const server = createMcpServer({
    tools,
    version: "0",
    call: async () => ({ ok: false, code: "internal", refusal: null, text: "internal: only listed here" }),
  });
  const client = new Client({ name: "recorder", version: "0" });
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  await server.connect(serverSide);
  await client.connect(clientSide);
  const listed = await client.listTools();
  await client.close();
  return listed.tools;
}
