import { randomBytes } from "node:crypto";
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LoopkeeperError, systemCode } from "./run/errors.ts";

/** The token of `loopkeeper serve`. */
export interface ServeToken {
  readonly token: string;
  /** Where it is kept; null when LOOPKEEPER_TOKEN gave it. */
  readonly file: string | null;
}

const FILE_NAME = "serve-token";
const BYTES = 32;
/** Long enough that nobody tries them out. */
const FORMAT = /^[\x21-\x7e]{32,512}$/u;

/** LOOPKEEPER_TOKEN, else the one of this home, made at the first serve and readable by its owner alone. */
export function serveToken(home: string, given: string | null): ServeToken {
  if (given !== null) {
    if (FORMAT.test(given)) return { token: given, file: null };
    throw new LoopkeeperError(
      "bad_input",
      "LOOPKEEPER_TOKEN is no token: it takes 32 to 512 visible ASCII characters. Make one with `openssl rand -base64 32`, or unset it. Its value is not shown here.",
    );
  }
  const file = join(home, FILE_NAME);
  try {
    return { token: read(file) ?? made(file), file };
  } catch (error) {
    if (error instanceof LoopkeeperError) throw error;
    throw new LoopkeeperError(
      "store_unavailable",
      `the token file ${file} cannot be read or made (${systemCode(error) ?? "unknown"}). Make it readable for you, or set LOOPKEEPER_TOKEN.`,
    );
  }
}

function read(file: string): string | null {
  let token: string;
  try {
    token = readFileSync(file, "utf8").trim();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
  if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  if (FORMAT.test(token)) return token;
  throw new LoopkeeperError(
    "bad_input",
    `the token file ${file} holds no token. Remove it and start again: a new one is made, and sessions of browsers end.`,
  );
}

/** Two first serves at once agree on one: the file appears whole, and who comes second takes it. */
function made(file: string): string {
  mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
  const token = randomBytes(BYTES).toString("base64url");
  const own = `${file}.${process.pid}`;
  writeFileSync(own, `${token}\n`, { mode: 0o600 });
  try {
    linkSync(own, file);
    return token;
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
    return read(file) ?? token;
  } finally {
    rmSync(own, { force: true });
  }
}
