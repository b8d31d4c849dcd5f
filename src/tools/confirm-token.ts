import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { epochMs, isoOf, msOf } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { argument } from "../run/names.ts";
import { said, toCallers } from "../run/said.ts";

/** What a confirm token stands for: one action, one run revision, one tree, one owner, for ten minutes. */
const payloadSchema = z.strictObject({
  action: z.enum(["reset", "redo"]),
  run_id: z.string(),
  owner: z.string(),
  revision: z.number().int(),
  /** Hash over everything that the preview saw. */
  fingerprint: z.string(),
  /** Trees of the working tree and of the index as they were, whole. */
  tree: z.string(),
  index_tree: z.string(),
  /** Paths outside of the run's that were seen to change from one preview to the next, as a log does that is written to. */
  restless: z.array(z.string()),
  /** The previewed arguments, as canonical JSON. */
  args: z.string(),
  expires_at: z.string(),
});
export type ConfirmPayload = z.infer<typeof payloadSchema>;

const LIFE_MS = 10 * 60_000;

export function mintToken(
  secret: Uint8Array,
  payload: Omit<ConfirmPayload, "expires_at">,
): { readonly token: string; readonly expires_at: string } {
  const expiresAt = isoOf(epochMs() + LIFE_MS);
  const body = Buffer.from(JSON.stringify({ ...payload, expires_at: expiresAt })).toString("base64url");
  return { token: `${body}.${signature(secret, body)}`, expires_at: expiresAt };
}

/** The payload of a token that this store signed for this action, run and owner; anything else is `confirm_token_invalid`. */
export function readToken(
  secret: Uint8Array,
  token: string,
  wanted: Pick<ConfirmPayload, "action" | "run_id" | "owner">,
): ConfirmPayload {
  const payload = verified(secret, token);
  if (payload === null) throw invalid("it is not a token of this store");
  if (payload.action !== wanted.action) throw invalid(`it was given for ${payload.action}`);
  if (payload.run_id !== wanted.run_id) throw invalid(`it was given for run ${payload.run_id}`);
  if (payload.owner !== wanted.owner) throw invalid("it was given to another owner");
  return payload;
}

export function isExpired(payload: ConfirmPayload): boolean {
  return msOf(payload.expires_at) <= epochMs();
}

function verified(secret: Uint8Array, token: string): ConfirmPayload | null {
  const [body, given, ...rest] = token.split(".");
  if (body === undefined || given === undefined || rest.length > 0) return null;
  const expected = Buffer.from(signature(secret, body));
  const actual = Buffer.from(given);
  if (expected.length !== actual.length || !timingSafeEqual(expected, actual)) return null;
  try {
    const parsed = payloadSchema.safeParse(JSON.parse(Buffer.from(body, "base64url").toString("utf8")));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

function signature(secret: Uint8Array, body: string): string {
  return createHmac("sha256", secret).update(body).digest("base64url");
}

function invalid(why: string): LoopkeeperError {
  return new LoopkeeperError(
    "confirm_token_invalid",
    said`${why}. ${toCallers(said`Call again without ${argument("confirm_token", "")}`, "Look again")} to see the consequences and get a new one.`,
  );
}
