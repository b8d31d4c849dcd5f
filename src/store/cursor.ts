import { z } from "zod";
import { epochMs } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { jsonOrNull } from "../run/json.ts";

/** How long the later pages of a list keep the order of its first page. */
export const CURSOR_LIFE_MS = 24 * 60 * 60 * 1000;

/** Where a list goes on: below this place, in the order of changes as it was at the snapshot. */
export interface Cursor {
  readonly snapshot: number;
  readonly below: number;
  /** When the first page was given, in milliseconds since the epoch. */
  readonly begun: number;
}

const cursorSchema = z.tuple([z.literal(1), z.number().int().nonnegative(), z.number().int().nonnegative(), z.number()]);

export function encodeCursor({ snapshot, below, begun }: Cursor): string {
  return Buffer.from(JSON.stringify([1, snapshot, below, begun])).toString("base64url");
}

export function decodeCursor(text: string): Cursor {
  const parsed = cursorSchema.safeParse(jsonOrNull(Buffer.from(text, "base64url").toString("utf8")));
  if (!parsed.success) {
    throw new LoopkeeperError("bad_input", "cursor is not one that run_list gave. Call run_list without cursor to begin anew.");
  }
  const [, snapshot, below, begun] = parsed.data;
  if (epochMs() - begun > CURSOR_LIFE_MS) {
    throw new LoopkeeperError("bad_input", "cursor is more than a day old. Call run_list without cursor to begin anew.");
  }
  return { snapshot, below, begun };
}
