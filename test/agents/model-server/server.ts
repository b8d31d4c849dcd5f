import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { anthropic } from "./anthropic.ts";
import { chat } from "./chat.ts";
import type { Conversation } from "./conversation.ts";
import { type Answer, type Dialect, jsonAnswer } from "./dialect.ts";
import { gemini } from "./gemini.ts";
import { responses } from "./responses.ts";
import { type Reply, UNSCRIPTED } from "./script.ts";
import { searchForReportTool, toolCallsFor } from "./tool-call.ts";

export interface RecordedRequest {
  readonly dialect: Dialect["name"];
  readonly path: string;
  /** `side`: titles, summaries, topic checks. They get a harmless answer and use up nothing of the script. */
  readonly kind: "main" | "side";
  readonly conversation: Conversation;
  readonly body: unknown;
  readonly reply: Reply;
}

export interface ModelServer {
  readonly port: number;
  requests(): readonly RecordedRequest[];
  /** Requests of the agent's own loop, oldest first. */
  mainRequests(): readonly RecordedRequest[];
  /** Adds replies behind those still waiting. */
  enqueue(...replies: readonly Reply[]): void;
  /** Forgets replies that nobody has asked for. */
  clearScript(): void;
  /** Anything asked that no dialect knows; hermetic agents ask only for models and token counts. */
  unknownPaths(): readonly string[];
  stop(): Promise<void>;
}

const DIALECTS = [anthropic, chat, responses, gemini] as const;

/** A model on loopback that speaks four providers' dialects and answers from a queue, one reply for each request of the agent's loop. */
export async function startModelServer({ script }: { readonly script: readonly Reply[] }): Promise<ModelServer> {
  const queue = [...script];
  const recorded: RecordedRequest[] = [];
  const unknown: string[] = [];

  const server = createServer((request, response) => {
    // An agent that is killed breaks its connections; without listeners that would end the test process.
    request.on("error", () => {});
    response.on("error", () => {});
    void bodyOf(request).then((body) => {
      const answer = answerTo(`${request.method}`, new URL(`${request.url}`, "http://model.local").pathname, body);
      if (answer !== null) send(response, answer);
    });
  });
  // Codex tries a websocket first and falls back when it is refused.
  server.on("upgrade", (_request, socket) => {
    socket.end("HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the model server has no port");

  return {
    port: address.port,
    requests: () => recorded,
    mainRequests: () => recorded.filter((request) => request.kind === "main"),
    enqueue: (...replies) => void queue.push(...replies),
    clearScript: () => void queue.splice(0),
    unknownPaths: () => unknown,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  function answerTo(method: string, path: string, body: unknown): Answer | null {
    const dialect = method === "POST" ? DIALECTS.find((candidate) => candidate.matches(path)) : undefined;
    if (dialect === undefined) return answerAside(method, path);
    const conversation = dialect.read(body);
    const kind = isMain(conversation) ? "main" : "side";
    const reply: Reply = kind === "main" ? (queue.shift() ?? UNSCRIPTED) : { say: sideAnswer(body) };
    recorded.push({ dialect: dialect.name, path, kind, conversation, body, reply });
    if (reply.hang === true) return null;
    if (reply.fault !== undefined) return dialect.refuse(reply.fault);
    const calls = reply.call === undefined ? [] : toolCallsFor(reply.call, conversation);
    const missing = reply.call !== undefined && calls.length === 0;
    if (missing && reply.call.tool === "report") {
      const search = searchForReportTool(conversation);
      // The reply is still owed once the search has shown the tool.
      if (search.length > 0) queue.unshift(reply);
      if (search.length > 0) return dialect.answer({ think: null, say: "", calls: search }, { body, path });
    }
    const say = `${reply.say ?? ""}${missing ? `[no tool for ${reply.call.tool}]` : ""}`;
    return dialect.answer({ think: reply.think ?? null, say, calls }, { body, path });
  }

  function answerAside(method: string, path: string): Answer {
    // Claude Code looks whether anybody is there.
    if (method === "HEAD") return jsonAnswer(200, {});
    if (/count_?tokens$/i.test(path)) return jsonAnswer(200, { input_tokens: 1000, totalTokens: 1000 });
    if (path.endsWith("/models")) return jsonAnswer(200, { object: "list", data: [], models: [], has_more: false });
    unknown.push(path);
    return jsonAnswer(404, { error: { type: "not_found_error", message: "not found" } });
  }
}

/** Only the agent's own loop offers a shell; requests for titles, summaries and checks offer nothing or little. */
function isMain(conversation: Conversation): boolean {
  return conversation.tools.some((tool) => /^(bash|shell|exec_command|run_shell_command)$/i.test(tool.name));
}

/** Some side requests want JSON of a shape; these keys satisfy those that agents send. */
function sideAnswer(body: unknown): string {
  return /application\/json|json_schema|responseSchema/i.test(JSON.stringify(body))
    ? '{"title":"Scripted","reasoning":"ok"}'
    : "Scripted";
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const text = Buffer.concat(chunks).toString();
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    return {};
  }
}

function send(response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body);
}
