import { z } from "zod";
import { LeaseLostError } from "../run/errors.ts";
import { sha256 } from "../run/id.ts";
import { keepArtifact, readArtifact, readRunArtifacts, setRunArtifacts } from "./artifacts.ts";
import type { Backend } from "./backend.ts";
import { compress, decompress } from "./journal-chunk.ts";
import type { Seal } from "./seal.ts";
import type { Copies } from "./store.ts";

/** Ids of sealed content. They say nothing about the content, so the seal itself has to tell whether it is whole. */
const SEALED = "sealed-";

const metaSchema = z.strictObject({
  v: z.literal(1),
  head: z.strictObject({ about: z.string(), host: z.string(), iteration: z.number().int(), at: z.string(), bytes: z.number() }),
  /** Name of the key that sealed it; null: it is not sealed. */
  key: z.string().nullable(),
  contents: z.string(),
});

const NO_KEY =
  "LOOPKEEPER_KEY is not set: no copy of a run's conversation and working tree goes into a shared database without it";

/** Copies of what a run consists of outside the store, for another host. In a shared database they are sealed or not there. */
export function copiesOver(backend: Backend, seal: Seal | null): Copies {
  const refused = backend.kind === "postgres" && seal === null ? NO_KEY : null;
  return {
    refused,
    sealed: seal !== null,
    putPart: async (bytes, known) => {
      if (refused !== null) throw new Error(refused);
      const id = seal === null ? sha256(bytes) : `${SEALED}${seal.idOf(bytes)}`;
      if (known.has(id)) return id;
      if (seal === null) await keepArtifact(backend, id, bytes, "packed");
      else await keepArtifact(backend, id, seal.seal(pack(bytes), id), "as it is");
      return id;
    },
    part: async (id) => {
      const stored = await readArtifact(backend, id, (bytes) => id.startsWith(SEALED) || sha256(bytes) === id);
      if (stored === null) throw new Error("a part of the copy is gone from the store");
      if (!id.startsWith(SEALED)) return stored;
      const opened = seal?.open(stored, id) ?? null;
      if (opened === null) throw new Error(unreadable(seal));
      return unpack(opened);
    },
    set: async ({ run_id, name, fence, head, contents, parts }) => {
      const meta: z.infer<typeof metaSchema> = {
        v: 1,
        head,
        key: seal?.key_id ?? null,
        contents: seal === null ? contents : seal.seal(Buffer.from(contents), `${run_id} ${name}`).toString("base64"),
      };
      const stored = await setRunArtifacts(backend, run_id, name, JSON.stringify(meta), parts, fence);
      if (!stored) throw new LeaseLostError(`the lease of run ${run_id} is no longer this driver's`);
    },
    get: async (runId, name) => {
      const stored = await readRunArtifacts(backend, runId, name);
      if (stored === null) return null;
      const meta = metaSchema.parse(JSON.parse(stored.meta));
      const copy = { ...meta.head, parts: stored.ids };
      if (meta.key === null) return { ...copy, contents: meta.contents, unreadable: null };
      const opened = seal?.open(Buffer.from(meta.contents, "base64"), `${runId} ${name}`) ?? null;
      return opened === null
        ? { ...copy, contents: null, unreadable: unreadable(seal) }
        : { ...copy, contents: opened.toString("utf8"), unreadable: null };
    },
  };
}

function unreadable(seal: Seal | null): string {
  return seal === null
    ? "the copy is sealed and LOOPKEEPER_KEY is not set here; set it to the key of the host that wrote it"
    : "the copy was sealed with another LOOPKEEPER_KEY than the one set here, or is damaged; set the key of the host that wrote it";
}

/** Compressed before it is sealed: sealed bytes do not get smaller. The first byte names the codec. */
function pack(bytes: Uint8Array): Buffer {
  const { codec, body } = compress(bytes);
  return Buffer.concat([Buffer.from([codec === "zstd" ? 1 : 2]), body]);
}

function unpack(packed: Buffer): Promise<Buffer> {
  return decompress(packed[0] === 1 ? "zstd" : "deflate", packed.subarray(1));
}
