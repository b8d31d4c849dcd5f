import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type ReportLine, reportLineSchema } from "../../../src/run/report.ts";

/** The driver's end of the report protocol, on a real unix socket. */
export interface DriverSocket {
  readonly path: string;
  readonly token: string;
  readonly lines: ReportLine[];
  /** Ends every connection, as a driver that died would. */
  drop(): void;
  close(): Promise<void>;
}

export async function listenAsDriver(): Promise<DriverSocket> {
  const folder = await mkdtemp(join(tmpdir(), "lk-report-"));
  const path = join(folder, "driver.sock");
  const token = "t0ken";
  const lines: ReportLine[] = [];
  const sockets = new Set<{ destroy(): unknown }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    createInterface({ input: socket }).on("line", (text) => {
      const line = reportLineSchema.parse(JSON.parse(text));
      lines.push(line);
      const ok = line.token === token;
      socket.write(`${JSON.stringify(ok ? { id: line.id, ok } : { id: line.id, ok, error: "wrong token" })}\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    path,
    token,
    lines,
    drop,
    close: async () => {
      drop();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}
