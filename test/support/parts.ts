import type { Engines, PackedSession, SessionOf } from "../../src/engine/engine.ts";
import { now } from "../../src/run/clock.ts";
import { sha256 } from "../../src/run/id.ts";

/** Parts of packed sessions in memory, as the store keeps them. */
export function partsInMemory() {
  const parts = new Map<string, Uint8Array>();
  const written: string[] = [];
  return {
    /** Ids in the order in which parts were handed over to be stored. */
    written,
    pack: (engines: Engines, input: SessionOf): Promise<PackedSession | null> =>
      engines.packSession({
        ...input,
        known: new Set(parts.keys()),
        put: async (part) => {
          const id = sha256(part);
          parts.set(id, Buffer.from(part));
          written.push(id);
          return id;
        },
      }),
    unpack: (engines: Engines, input: SessionOf, packed: PackedSession | null, packedAt = now()): Promise<void> => {
      if (packed === null) throw new Error("nothing was packed");
      return engines.unpackSession({
        ...input,
        packed,
        packed_at: packedAt,
        part: async (id) => parts.get(id) ?? Promise.reject(new Error(`no part ${id}`)),
      });
    },
  };
}
