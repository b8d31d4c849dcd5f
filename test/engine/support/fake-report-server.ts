import { connect } from "node:net";
import { createInterface } from "node:readline";
import { z } from "zod";
import { REPORT_SOCKET_VARIABLE, REPORT_TOKEN_VARIABLE, reportReplySchema } from "../../../src/run/report.ts";

const requestSchema = z.looseObject({
  id: z.number().optional(),
  method: z.string(),
  params: z.looseObject({ arguments: z.unknown().optional() }).optional(),
});

/** The smallest MCP server over stdio that hands `report_progress` on to the driver's socket. */
export async function runReportServer(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const token = env[REPORT_TOKEN_VARIABLE] ?? "";
  const socket = connect(env[REPORT_SOCKET_VARIABLE] ?? "");
  const replies = createInterface({ input: socket });
  let next = 0;
  const tell = (line: object): Promise<z.output<typeof reportReplySchema>> => {
    next += 1;
    const id = next;
    return new Promise((resolve) => {
      replies.on("line", (text) => {
        const reply = reportReplySchema.parse(JSON.parse(text));
        if (reply.id === id) resolve(reply);
      });
      socket.write(`${JSON.stringify({ id, token, ...line })}\n`);
    });
  };
  const answer = (message: object): void => {
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };

  for await (const text of createInterface({ input: process.stdin })) {
    const { id, method, params } = requestSchema.parse(JSON.parse(text));
    if (method === "initialize") {
      answer({
        id,
        result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } },
      });
    } else if (method === "tools/list") {
      await tell({ type: "listed" });
      answer({ id, result: { tools: [{ name: "report_progress", inputSchema: { type: "object" } }] } });
    } else if (method === "tools/call") {
      const reply = await tell({ type: "report", report: params?.arguments });
      answer({ id, result: { content: [{ type: "text", text: reply.error ?? "noted" }], isError: !reply.ok } });
    }
  }
  process.exit(0);
}
