import { timingSafeEqual } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { z } from "zod";
import { type ReportLine, reportLineSchema, type reportReplySchema, toReport } from "../run/report.ts";
import type { Report } from "../run/run.ts";

/** Where the injected report server of one engine tells its reports. */
export interface ReportListener {
  readonly socket: string;
  /** True once a report server with the right token said that its tools were asked for. */
  listed(): boolean;
  close(): Promise<void>;
}

type Reply = z.output<typeof reportReplySchema>;

/**
 * Opens a Unix socket that only this user can reach. Lines without the attempt's token are refused, so that a process of
 * another attempt, or one that merely found the socket, cannot report for this one.
 */
export async function openReportListener(token: string, onReport: (report: Report) => void): Promise<ReportListener> {
  const folder = await mkdtemp(join(shortTemp(), "lk-"));
  await chmod(folder, 0o700);
  const socket = join(folder, "s");
  const sockets = new Set<Socket>();
  let listed = false;

  const answer = (text: string): Reply => {
    const line = parseLine(text);
    if (line === null) return { id: 0, ok: false, error: "not a line of the report protocol" };
    if (!sameToken(line.token, token)) return { id: line.id, ok: false, error: "the token is not that of the present attempt" };
    if (line.type === "listed") listed = true;
    else onReport(toReport(line.report));
    return { id: line.id, ok: true };
  };

  const server = createServer((connection) => {
    sockets.add(connection);
    connection.on("error", () => {});
    connection.on("close", () => sockets.delete(connection));
    createInterface({ input: connection })
      .on("line", (text) => connection.write(`${JSON.stringify(answer(text))}\n`))
      .on("error", () => {});
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket, resolve);
  });

  return {
    socket,
    listed: () => listed,
    async close() {
      for (const connection of sockets) connection.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

// A socket's path may have about 100 bytes; a long TMPDIR leaves no room.
function shortTemp(): string {
  const folder = tmpdir();
  return folder.length > 70 ? "/tmp" : folder;
}

function parseLine(text: string): ReportLine | null {
  try {
    const parsed = reportLineSchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

function sameToken(given: string, wanted: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(wanted);
  return a.length === b.length && timingSafeEqual(a, b);
}
