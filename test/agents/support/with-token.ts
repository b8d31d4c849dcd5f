import { createServer, type IncomingHttpHeaders, request } from "node:http";
import { z } from "zod";

const addressSchema = z.object({ port: z.number() });

/** An address on loopback that hands everything on to a `serve` with its token, for a client that can send none. */
export async function withToken(serve: { readonly port: number; readonly token: string }): Promise<{
  readonly port: number;
  close(): void;
}> {
  const server = createServer((from, to) => {
    const { port } = addressSchema.parse(server.address());
    const headers = { ...renamed(from.headers, port, serve.port), authorization: `Bearer ${serve.token}` };
    const onward = request({ host: "127.0.0.1", port: serve.port, path: from.url, method: from.method, headers });
    onward.on("response", (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(to);
    });
    onward.on("error", () => to.destroy());
    to.on("close", () => onward.destroy());
    from.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: addressSchema.parse(server.address()).port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Its own port becomes the server's; names of strangers stay, since the server has to refuse them. */
function renamed(headers: IncomingHttpHeaders, own: number, servers: number): IncomingHttpHeaders {
  const { host, origin } = headers;
  const rename = (name: string): string => name.replace(`:${own}`, `:${servers}`);
  return {
    ...headers,
    ...(host === undefined ? {} : { host: rename(host) }),
    ...(origin === undefined ? {} : { origin: rename(origin) }),
  };
}
