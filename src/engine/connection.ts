import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk/unstable";
import { messageOf } from "../run/errors.ts";
import type { AcpErrorSeen } from "./classify-stop.ts";
import type { SpokenProcess } from "./process.ts";

/** How a request to the engine ended. `closed`: the engine is gone or the connection broke. */
export type Answer =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly error: AcpErrorSeen }
  | { readonly kind: "closed" };

/** What the engine sends by itself; called in the order of arrival. */
export interface Receiver {
  notification(method: string, params: unknown): void;
  /** Answers `session/request_permission`. */
  permission(params: unknown): acp.RequestPermissionResponse;
}

export interface Connection {
  /** Never throws. Results are as they came: the SDK's own parsing would drop what vendors add. */
  request(method: string, params: object): Promise<Answer>;
  notify(method: string, params: object): void;
  close(): void;
}

// The SDK ends the connection at 32 MiB, which one tool result with a large file in it can exceed.
const LONGEST_MESSAGE = 268_435_456;

/** Speaks ACP over the process's stdin and stdout. */
export function connect(child: SpokenProcess, receiver: Receiver): Connection {
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout), {
    maxMessageBytes: LONGEST_MESSAGE,
  });
  const connection = acp
    .client({ name: "loopkeeper" })
    .onRequest("*", ({ method, params }) => {
      if (method === "session/request_permission") return receiver.permission(params);
      receiver.notification(method, params);
      throw acp.RequestError.methodNotFound(method);
    })
    .connect({ writable: stream.writable, readable: stream.readable.pipeThrough(takeNotifications(receiver)) });

  return {
    request: (method, params) =>
      connection.agent.request<unknown, object>(method, params).then(
        (result): Answer => ({ kind: "result", result }),
        (error: unknown): Answer => failed(error, connection.signal.aborted),
      ),
    notify(method, params) {
      connection.agent.notify<object>(method, params).catch(() => {});
    },
    close: () => connection.close(),
  };
}

/**
 * Takes notifications out of the stream before the SDK sees them: it drops an update of a kind that it does not know, and
 * handles updates later than an answer that came after them.
 */
function takeNotifications(receiver: Receiver): TransformStream<acp.AnyMessage, acp.AnyMessage> {
  return new TransformStream({
    transform(message, controller) {
      if ("method" in message && !("id" in message)) receiver.notification(message.method, message.params);
      else controller.enqueue(message);
    },
  });
}

function failed(error: unknown, closed: boolean): Answer {
  if (error instanceof acp.RequestError) {
    return { kind: "error", error: { code: error.code, message: error.message, data: error.data ?? null } };
  }
  if (closed) return { kind: "closed" };
  return { kind: "error", error: { code: null, message: messageOf(error), data: null } };
}
