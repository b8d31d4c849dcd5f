import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { jsonOrNull } from "../run/json.ts";
import { type ReportLine, reportReplySchema } from "../run/report.ts";

type Unnumbered<T> = T extends unknown ? Omit<T, "id" | "token"> : never;
/** A line of the report protocol before its id and token are put on. */
export type ReportMessage = Unnumbered<ReportLine>;

export interface DriverReply {
  readonly ok: boolean;
  readonly error: string | null;
}

/** The driver's side is on this machine and answers at once; longer means that it hangs. */
const REPLY_TIMEOUT_MS = 30_000;

/** A line to the driver of this run. It connects when first used and again after a loss. */
export interface DriverLine {
  /** The driver's reply; `ok: false` when it cannot be reached. Never rejects. */
  tell(message: ReportMessage): Promise<DriverReply>;
  close(): void;
}

export function openDriverLine(socketPath: string, token: string): DriverLine {
  const waiting = new Map<number, (reply: DriverReply) => void>();
  let socket: Socket | null = null;
  let lastId = 0;

  function tell(message: ReportMessage): Promise<DriverReply> {
    lastId += 1;
    const id = lastId;
    const reply = new Promise<DriverReply>((resolve) => {
      const timer = setTimeout(() => settle(id, { ok: false, error: "the driver did not answer" }), REPLY_TIMEOUT_MS);
      waiting.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
    });
    socket ??= dial();
    socket.write(`${JSON.stringify({ id, token, ...message })}\n`);
    return reply;
  }

  function dial(): Socket {
    const fresh = connect(socketPath);
    createInterface({ input: fresh }).on("line", takeReply);
    fresh.on("error", () => lose(fresh));
    fresh.on("close", () => lose(fresh));
    return fresh;
  }

  function takeReply(line: string): void {
    const parsed = reportReplySchema.safeParse(jsonOrNull(line));
    if (parsed.success) settle(parsed.data.id, { ok: parsed.data.ok, error: parsed.data.error ?? null });
  }

  function lose(lost: Socket): void {
    if (socket !== lost) return;
    socket = null;
    for (const id of waiting.keys()) settle(id, { ok: false, error: "the driver is not there" });
  }

  function settle(id: number, reply: DriverReply): void {
    const resolve = waiting.get(id);
    waiting.delete(id);
    resolve?.(reply);
  }

  return { tell, close: () => socket?.destroy() };
}
