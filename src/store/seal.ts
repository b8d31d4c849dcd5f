import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";

/** AES-256-GCM under the owner's key. What is sealed is bound to what it is: moved elsewhere, it does not open. */
export interface Seal {
  /** Tells one key from another without telling anything of the key. */
  readonly key_id: string;
  /** The same for the same content under the same key; without the key nobody can guess at the content by it. */
  idOf(plain: Uint8Array): string;
  seal(plain: Uint8Array, about: string): Buffer;
  /** Null when it was sealed by another key, for something else, or is damaged. */
  open(sealed: Uint8Array, about: string): Buffer | null;
}

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function createSeal(key: Uint8Array): Seal {
  // One key for each purpose: an id must tell nothing about the key stream.
  const derive = (purpose: string): Buffer => Buffer.from(hkdfSync("sha256", key, "", `loopkeeper ${purpose}`, 32));
  const cipherKey = derive("cipher");
  const nameKey = derive("content id");
  return {
    key_id: derive("key id").toString("hex").slice(0, 16),
    idOf: (plain) => createHmac("sha256", nameKey).update(plain).digest("hex"),
    seal: (plain, about) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, cipherKey, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(about));
      const body = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]);
    },
    open: (sealed, about) => {
      if (sealed.byteLength < NONCE_BYTES + TAG_BYTES) return null;
      const decipher = createDecipheriv(CIPHER, cipherKey, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(about));
      decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
      } catch {
        return null;
      }
    },
  };
}
