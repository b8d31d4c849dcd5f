import { z } from "zod";
import { LoopkeeperError } from "../run/errors.ts";

/** Where a list goes on: below this place, in the order of changes as it was at the snapshot. */
export interface Cursor {
  readonly snapshot: number;
  readonly below: number;
}

const cursorSchema = z.tuple([z.literal(1), z.number().int().nonnegative(), z.number().int().nonnegative()]);

export function encodeCursor({ snapshot, below }: Cursor): string {
  return Buffer.from(JSON.stringify([1, snapshot, below])).toString("base64url");
}

export function decodeCursor(text: string): Cursor {
  const parsed = cursorSchema.safeParse(jsonOf(Buffer.from(text, "base64url").toString("utf8")));
  if (!parsed.success) {
    throw new LoopkeeperError("bad_input", "cursor is not one that run_list gave. Call run_list without cursor to begin anew.");
  }
  const [, snapshot, below] = parsed.data;
  return { snapshot, below };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
