import { appendFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

/** Stands where the product injects its own server; writes every report to the file that it is given. */
const [file = ""] = process.argv.slice(2);

serveStdio(() => {
  const server = new McpServer({ name: "loopkeeper", version: "0.0.0" });
  const inputSchema = z.object({ completed: z.array(z.string()), intended: z.array(z.string()), verdict: z.string().optional() });
  server.registerTool("report_progress", { description: "Report progress.", inputSchema }, async (report) => {
    appendFileSync(file, `${JSON.stringify(report)}\n`);
    return { content: [{ type: "text", text: "noted" }] };
  });
  return server;
});
