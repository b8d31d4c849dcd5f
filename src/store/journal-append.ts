import { LeaseLostError } from "../run/errors.ts";
import type { Backend } from "./backend.ts";
import { encodeChunks } from "./journal-chunk.ts";
import type { Store } from "./store.ts";

/**
 * Durable when it resolves. Entries of more than one chunk (over 1 MiB) are several commits, in order: what is stored when it
 * fails in between is a beginning of them without a gap.
 */
export async function appendJournal(backend: Backend, input: Parameters<Store["appendJournal"]>[0]): Promise<void> {
  for (const chunk of encodeChunks(input.entries, input.at)) {
    if (await backend.appendChunk(input.run_id, input.fence, chunk)) continue;
    throw new LeaseLostError(`run ${input.run_id} was taken over (fence ${input.fence} is no longer its last)`);
  }
}
