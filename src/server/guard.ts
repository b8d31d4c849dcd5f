import type { Context, MiddlewareHandler } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { isSameOrigin, isTrustedHost, type Sessions, sameSecret } from "./auth.ts";
import { problemResponse } from "./problem.ts";

export interface Trust {
  readonly token: string;
  readonly sessions: Sessions;
  /** The port that is listened on. */
  readonly port: () => number;
  /** Names beside the loopback ones, each `name` or `name:port`. */
  readonly allowed_hosts: readonly string[];
  /** A ticket of this name began a session: what held it is of no more use. */
  readonly onRedeemed: (name: string) => void;
}

const REALM = 'Bearer realm="loopkeeper"';
/** A header that no form and no link of another page can send. */
export const OWN_HEADER = "x-loopkeeper";
/** What our own page sends in it: a person reads the answers. */
export const OWN_PAGE = "console";

const isReading = (method: string): boolean => method === "GET" || method === "HEAD";

function forbidden(c: Context, detail: string): Response {
  return problemResponse({ code: "forbidden", detail, instance: c.req.path });
}

/** First of all, for every address: who is asked, and which page asks. */
export function trustedNames(trust: Trust): MiddlewareHandler {
  return async (c, next) => {
    const host = c.req.header("host") ?? "";
    if (!isTrustedHost(host, trust.port(), trust.allowed_hosts))
      return forbidden(
        c,
        "this server is asked under a name that it does not trust. Use its loopback address with its port, or start it with --allow-host NAME.",
      );
    const origin = c.req.header("origin");
    if (origin !== undefined && !isSameOrigin(origin, host))
      return forbidden(c, "a page of another origin asks. Only this server's own pages may.");
    return next();
  };
}

/** A bearer token, or a browser's session where sessions count. */
export function authenticated(trust: Trust, by: "token" | "token or session"): MiddlewareHandler {
  return async (c, next) => {
    const bearer = /^Bearer +(\S+) *$/iu.exec(c.req.header("authorization") ?? "")?.[1];
    if (bearer !== undefined) return sameSecret(bearer, trust.token) ? next() : unauthorized(c, "the token is not this server's");
    const cookie = by === "token" ? undefined : sessionCookie(c, trust);
    if (cookie === undefined) return unauthorized(c, "this needs a token");
    if (trust.sessions.endOf(cookie) === null) return unauthorized(c, "the session is over");
    return fromOwnPage(c) ? next() : forbidden(c, OWN_PAGE_ONLY);
  };
}

const OWN_PAGE_ONLY = `a session counts only for this server's own pages: a request that writes sends Origin, and ${OWN_HEADER} or Sec-Fetch-Site: same-origin.`;

/** Browsers send a cookie to every port of a host, also when a page of another port asks: the cookie alone proves no page. */
function fromOwnPage(c: Context): boolean {
  const site = c.req.header("sec-fetch-site");
  if (isReading(c.req.method)) return site === undefined || site === "same-origin" || site === "none";
  if (c.req.header("origin") === undefined) return false;
  return site === undefined ? c.req.header(OWN_HEADER) !== undefined : site === "same-origin";
}

function unauthorized(c: Context, what: string): Response {
  return problemResponse({
    code: "unauthorized",
    detail: `${what}. Send "Authorization: Bearer TOKEN"; the token is in the file that loopkeeper serve names, or in LOOPKEEPER_TOKEN. In a browser open the address that it printed.`,
    instance: c.req.path,
    headers: { "www-authenticate": c.req.header("authorization") === undefined ? REALM : `${REALM}, error="invalid_token"` },
  });
}

/** Cookies know no ports: two servers of one host would take each other's. */
const cookieName = (trust: Trust): string => `loopkeeper_${trust.port()}`;

function sessionCookie(c: Context, trust: Trust): string | undefined {
  return getCookie(c, cookieName(trust));
}

/** When the browser's session ends, or null without one. */
export function sessionEnd(c: Context, trust: Trust): string | null {
  return trust.sessions.endOf(sessionCookie(c, trust) ?? "");
}

/** Exchanges the token, or a ticket, for a session: the page takes it out of the address's fragment, which no server is ever sent. */
export function beginSession(c: Context, trust: Trust, token: string): Response {
  const site = c.req.header("sec-fetch-site");
  if (site !== undefined && site !== "same-origin" && site !== "none") return forbidden(c, OWN_PAGE_ONLY);
  const ticket = trust.sessions.redeem(token);
  if (ticket !== null) trust.onRedeemed(ticket);
  else if (!sameSecret(token, trust.token)) return unauthorized(c, "the token is not this server's");
  const session = trust.sessions.begin();
  setCookie(c, cookieName(trust), session.cookie, {
    httpOnly: true,
    sameSite: "Strict",
    path: "/",
    maxAge: session.max_age_s,
    secure: c.req.header("origin")?.startsWith("https:") === true,
  });
  return c.json({ expires_at: session.expires_at });
}

export function endSession(c: Context, trust: Trust): Response {
  deleteCookie(c, cookieName(trust), { path: "/" });
  return c.body(null, 204);
}
