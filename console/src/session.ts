import { Offline, Problem, read, send } from "./api/client.ts";
import { shared } from "./ui/shared.ts";

/**
 * This browser's session. The token comes in the address's fragment, which no server is ever sent; it is exchanged for a cookie
 * that scripts cannot read, and taken out of the address at once, so that it is in no history.
 */
export type Session =
  | { readonly at: "asking" }
  | { readonly at: "in" }
  | { readonly at: "out"; readonly why: "none" | "wrong" | "over" }
  | { readonly at: "unreachable" };

const session = shared<Session>({ at: "asking" });
const change = session.set;

export const useSession = session.use;

/** A call was refused for lack of a session: it ended, or the server has another token now. */
export function sessionEnded(): void {
  if (session.get().at === "in") change({ at: "out", why: "over" });
}

/** Looks for a token in the address, else whether the browser has a session already. */
export async function beginSession(): Promise<void> {
  const token = tokenInAddress();
  if (token !== null) return signIn(token);
  try {
    await read("/api/session");
    change({ at: "in" });
  } catch (error) {
    change(isRefused(error) ? { at: "out", why: "none" } : { at: "unreachable" });
  }
}

export async function signIn(token: string): Promise<void> {
  change({ at: "asking" });
  try {
    await send("/api/session", { token });
    change({ at: "in" });
  } catch (error) {
    change(error instanceof Offline ? { at: "unreachable" } : { at: "out", why: "wrong" });
  }
}

function tokenInAddress(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return null;
  history.replaceState(history.state, "", `${location.pathname}${location.search}`);
  return token;
}

const isRefused = (error: unknown): boolean => error instanceof Problem && error.status === 401;
