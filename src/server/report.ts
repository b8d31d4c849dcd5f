import { type CallToolResult, Server } from "@modelcontextprotocol/server";
import { REPORT_SOCKET_VARIABLE, REPORT_TOKEN_VARIABLE, reportInputSchema } from "../run/report.ts";
import { type DriverLine, openDriverLine } from "./driver-line.ts";
import { serveMcpOverStdio } from "./stdio.ts";

const REPORT_TOOL = {
  name: "report_progress",
  title: "Report progress",
  description:
    "Tell the loop that runs you how far the objective is. Call it before you end every turn: completed (what is finished), midway (what is under way), intended (what is still to do, in order). Set verdict done only when the whole objective is reached and its checks pass; blocked when it cannot be reached; needs_human, with question, when only a person can decide. Without a verdict the loop goes on with another turn.",
  inputSchema: { ...reportInputSchema["~standard"].jsonSchema.input({ target: "draft-2020-12" }), type: "object" as const },
  annotations: {
    title: "Report progress",
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  _meta: { "anthropic/alwaysLoad": true },
};

/**
 * The MCP server that is injected into an engine's session: one tool, whose calls go to the driver's socket. Resolves when the
 * engine has closed it. It serves without a socket too, and then tells the engine that reports are not taken.
 */
export async function runReportServer(options: { readonly env: Readonly<Record<string, string>> }): Promise<void> {
  const line = lineFrom(options.env);
  await serveMcpOverStdio(
    () => reportServer(line),
    () => undefined,
  );
  line?.close();
}

function lineFrom(env: Readonly<Record<string, string>>): DriverLine | null {
  const socketPath = env[REPORT_SOCKET_VARIABLE];
  const token = env[REPORT_TOKEN_VARIABLE];
  return socketPath === undefined || token === undefined ? null : openDriverLine(socketPath, token);
}

function reportServer(line: DriverLine | null): Server {
  const server = new Server({ name: "loopkeeper", version: "1.0.0" }, { capabilities: { tools: { listChanged: false } } });
  server.setRequestHandler("tools/list", () => {
    // The driver learns that this engine can report; the engine's list does not wait for it.
    void line?.tell({ type: "listed" });
    return { tools: [REPORT_TOOL] };
  });
  server.setRequestHandler("tools/call", ({ params }) =>
    params.name === REPORT_TOOL.name
      ? report(line, params.arguments)
      : answer(`bad_input: the only tool is ${REPORT_TOOL.name}.`, true),
  );
  return server;
}

async function report(line: DriverLine | null, args: unknown): Promise<CallToolResult> {
  const parsed = reportInputSchema.safeParse(args ?? {});
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.map(String).join(".") || "arguments"}: ${issue.message}`);
    const known = Object.keys(reportInputSchema.shape).join(", ");
    return answer(`bad_input: ${faults.join("; ")}. report_progress takes: ${known}. Call it again.`, true);
  }
  if (parsed.data.verdict === "needs_human" && parsed.data.question === undefined) {
    return answer("bad_input: verdict needs_human wants question: what must the person answer? Call it again with it.", true);
  }
  if (line === null) return answer("not_allowed: this session is not driven by a loop, so nobody takes the report.", true);
  const reply = await line.tell({ type: "report", report: parsed.data });
  if (reply.ok) return answer("Recorded.", false);
  return answer(
    `store_unavailable: the report was not recorded (${reply.error ?? "refused"}). Go on with the work and report again at its end.`,
    true,
  );
}

function answer(text: string, isError: boolean): CallToolResult {
  return { content: [{ type: "text", text }], ...(isError ? { isError } : {}) };
}
