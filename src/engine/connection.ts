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

/** Speaks ACP over the process's stdin and stdout. */
export function connect(child: SpokenProcess, receiver: Receiver): Connection {
  // Only wildcard handlers: they get the raw message, so a kind of update that this SDK does not know arrives too.
  const connection = acp
    .client({ name: "loopkeeper" })
    .onNotification("*", ({ method, params }) => receiver.notification(method, params))
    .onRequest("*", ({ method, params }) => {
      if (method === "session/request_permission") return receiver.permission(params);
      receiver.notification(method, params);
      throw acp.RequestError.methodNotFound(method);
    })
    .connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));

  return {
    async request(method, params) {
      const answer = await connection.agent.request<unknown, object>(method, params).then(
        (result): Answer => ({ kind: "result", result }),
        (error: unknown): Answer => failed(error, connection.signal.aborted),
      );
      // Updates that came before the answer are handled some microtasks later than the answer.
      await new Promise((resolve) => setImmediate(resolve));
      return answer;
    },
    notify(method, params) {
      connection.agent.notify<object>(method, params).catch(() => {});
    },
    close: () => connection.close(),
  };
}

function failed(error: unknown, closed: boolean): Answer {
  if (error instanceof acp.RequestError) {
    return { kind: "error", error: { code: error.code, message: error.message, data: error.data ?? null } };
  }
  if (closed) return { kind: "closed" };
  return { kind: "error", error: { code: null, message: messageOf(error), data: null } };
}
