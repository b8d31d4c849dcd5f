import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { epochMs, isoOf } from "../run/clock.ts";

/** Who may come in. Pure decisions over headers; the answers are made in `guard.ts`. */

/** How long a browser stays logged in. */
const SESSION_SECONDS = 7 * 24 * 60 * 60;
/** How long a ticket may be redeemed: a browser that is not running yet has to start. */
export const TICKET_SECONDS = 300;
/** A session's parts, and a ticket's: when it ends (seconds), random bytes, and the seal over both. */
const SEALED_FORMAT = /^(\d{1,12})\.([\w-]{22})\.([\w-]{43})$/u;

export interface Session {
  readonly cookie: string;
  readonly max_age_s: number;
  readonly expires_at: string;
}

/** Compares in constant time, whatever the lengths. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest());
}

/**
 * Sessions of browsers. They are sealed with a key made of the token and kept nowhere: they outlive a restart of the server,
 * and not one outlives the token.
 */
export class Sessions {
  readonly #key: Uint8Array;
  readonly #redeemed = new Set<string>();

  constructor(token: string) {
    this.#key = createHmac("sha256", token).update("loopkeeper session 1").digest();
  }

  begin(): Session {
    const { text, ends } = this.#sealed("session", SESSION_SECONDS);
    return { cookie: text, max_age_s: SESSION_SECONDS, expires_at: isoOf(ends) };
  }

  /** When the session of this cookie ends (ISO 8601); null when it is none, or over. */
  endOf(cookie: string): string | null {
    const session = this.#opened("session", cookie);
    return session === null ? null : isoOf(session.ends);
  }

  /** Stands for the token where that must not lie about: begins one session, soon or never. */
  ticket(): { readonly text: string; readonly name: string } {
    return this.#sealed("ticket", TICKET_SECONDS);
  }

  /** The name of this ticket, once; null when it is none, over, or was redeemed before. */
  redeem(text: string): string | null {
    const name = this.#opened("ticket", text)?.name ?? null;
    if (name === null || this.#redeemed.has(name)) return null;
    this.#redeemed.add(name);
    return name;
  }

  #sealed(what: "session" | "ticket", seconds: number): { readonly text: string; readonly name: string; readonly ends: number } {
    const ends = Math.floor(epochMs() / 1000) + seconds;
    const name = randomBytes(16).toString("base64url");
    return { text: `${ends}.${name}.${this.#seal(what, ends, name)}`, name, ends: ends * 1000 };
  }

  #opened(what: "session" | "ticket", text: string): { readonly name: string; readonly ends: number } | null {
    const [, given = "", name = "", seal = ""] = SEALED_FORMAT.exec(text) ?? [];
    const ends = Number(given);
    if (name === "" || !sameSecret(seal, this.#seal(what, ends, name))) return null;
    return ends * 1000 > epochMs() ? { name, ends: ends * 1000 } : null;
  }

  #seal(what: "session" | "ticket", ends: number, name: string): string {
    return createHmac("sha256", this.#key).update(`${what} ${ends}.${name}`).digest("base64url");
  }
}

const LOOPBACK_NAMES: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];
const HOST_FORMAT = /^(\[[0-9a-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?$/iu;

/**
 * Names under which this server may be asked: a page of a stranger whose name was made to point here (DNS rebinding) sends its
 * own name. Loopback names need the server's own port; a name that the owner allowed may come through a proxy, with any port
 * unless he gave one.
 */
export function isTrustedHost(host: string, port: number, allowed: readonly string[]): boolean {
  const [, name = "", given = ""] = HOST_FORMAT.exec(host.toLowerCase()) ?? [];
  if (name === "") return false;
  if (LOOPBACK_NAMES.includes(name) && Number(given === "" ? 80 : given) === port) return true;
  return allowed.some((entry) => {
    const wanted = entry.toLowerCase();
    return wanted === name || (given !== "" && wanted === `${name}:${given}`);
  });
}

/** An Origin that is this server itself, over a proxy's TLS too. `null` (a sandboxed page, a file) is nobody's. */
export function isSameOrigin(origin: string, host: string): boolean {
  const name = host.toLowerCase();
  return origin === `http://${name}` || origin === `https://${name}`;
}
