import { type Context, Hono } from "hono";
import { secureHeaders } from "hono/secure-headers";
import { z } from "zod";
import { type ApiDoor, toolApi, unknownAddress } from "./api.ts";
import { Sessions } from "./auth.ts";
import { authenticated, beginSession, endSession, sessionEnd, type Trust, trustedNames } from "./guard.ts";
import type { HttpEnvironment } from "./http-environment.ts";
import type { McpOverHttp } from "./mcp-http.ts";
import { openApiDocument } from "./openapi.ts";
import { OTHER_OPERATIONS } from "./openapi-others.ts";
import { problemResponse } from "./problem.ts";
import { readJson } from "./read-json.ts";
import { routerPath, routesOf } from "./routes.ts";
import { consoleFiles } from "./static-files.ts";
import { type StreamDoor, streams } from "./streams.ts";

/** What the HTTP door is made of. */
export interface HttpDoor extends ApiDoor, StreamDoor {
  readonly version: string;
  readonly token: string;
  readonly allowed_hosts: readonly string[];
  readonly onRedeemed: (name: string) => void;
  /** Folder of the console's built files; it need not be there. */
  readonly console_folder: string;
  readonly mcp: McpOverHttp;
}

const sessionBody = z.strictObject({ token: z.string().min(1) });

/** The whole door as one application: REST under /api, MCP at /mcp, the console at /. `port` is asked at each request. */
export function httpApp(door: HttpDoor, port: () => number): Hono<HttpEnvironment> {
  const { token, allowed_hosts, onRedeemed } = door;
  const trust: Trust = { token, sessions: new Sessions(token), port, allowed_hosts, onRedeemed };
  const app = new Hono<HttpEnvironment>();
  app.use(
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", "data:"],
        fontSrc: ["'self'"],
        connectSrc: ["'self'"],
        manifestSrc: ["'self'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
      },
      xFrameOptions: "DENY",
      // No TLS here; a proxy that has it sends its own.
      strictTransportSecurity: false,
    }),
  );
  app.use(trustedNames(trust));
  app.use("/api/*", async (c, next) => {
    c.header("cache-control", "no-store");
    return next();
  });
  app.post("/api/session", async (c) => {
    const body = await readJson(c);
    if (body instanceof Response) return body;
    const parsed = sessionBody.safeParse(body);
    if (parsed.success) return beginSession(c, trust, parsed.data.token);
    return problemResponse({ code: "bad_input", detail: 'send {"token": "..."}.', instance: c.req.path });
  });
  app.use("/api/*", authenticated(trust, "token or session"));
  app.get("/api/session", (c) => c.json({ expires_at: sessionEnd(c, trust) }));
  app.delete("/api/session", (c) => endSession(c, trust));
  const document = openApiDocument(door.tools, door.version);
  app.get("/api/openapi.json", (c) => c.json(document));
  app.route("/", streams(door));
  app.route("/", toolApi(door));
  refuseTheRest(app, door);
  app.use("/mcp", authenticated(trust, "token"));
  app.all("/mcp", (c) => door.mcp.fetch(c.req.raw));
  app.get("*", (c) => consoleFiles(c, door.console_folder));
  app.notFound((c) => unknownAddress(c, c.req.method === "GET" || c.req.method === "HEAD" ? [] : ["GET", "HEAD"]));
  app.onError((error, c) => {
    door.onDefect(error);
    return problemResponse({
      code: "internal",
      detail: "the server failed in a way it was not made for; the log has the details. Nothing is known to have changed.",
      instance: c.req.path,
    });
  });
  return app;
}

/** Under /api only the table is served: the console's pages never answer there. */
function refuseTheRest(app: Hono<HttpEnvironment>, door: HttpDoor): void {
  const methods = new Map<string, string[]>();
  for (const { path, method } of [...routesOf(door.tools), ...OTHER_OPERATIONS]) {
    const own = method === "GET" ? ["GET", "HEAD"] : [method];
    methods.set(path, [...(methods.get(path) ?? []), ...own]);
  }
  for (const [path, allowed] of methods) app.all(routerPath(path), (c: Context) => unknownAddress(c, allowed));
  app.all("/api", (c) => unknownAddress(c, []));
  app.all("/api/*", (c) => unknownAddress(c, []));
}
