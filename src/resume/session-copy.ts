import { z } from "zod";
import type { StoredCopy } from "../store/store.ts";

/** How a session's copy describes its parts: the engine folder's own shape, read back here as data of the store. */
const packedSchema = z.strictObject({
  profile: z.string(),
  session_id: z.string(),
  cwd: z.string(),
  files: z.array(z.strictObject({ name: z.string(), bytes: z.number(), parts: z.array(z.string()) })),
});

export interface StoredSession extends Omit<StoredCopy, "contents"> {
  /** Null when it cannot be read here. */
  readonly packed: z.output<typeof packedSchema> | null;
}

export function readSession(copy: StoredCopy): StoredSession {
  const { contents, ...rest } = copy;
  if (contents === null) return { ...rest, packed: null };
  const packed = packedSchema.safeParse(JSON.parse(contents));
  return { ...rest, packed: packed.success ? packed.data : null };
}
