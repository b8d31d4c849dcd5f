import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { secretStream } from "../../src/redact/stream.ts";

const PEM = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs1", format: "pem" }).toString();
const many = (piece: string, times: number): string => piece.repeat(times);

const SPLIT: readonly (readonly [text: string, secret: string])[] = [
  [`the key is ${"gh"}p_${many("a1B2", 9)} and that is all`, `${"gh"}p_${many("a1B2", 9)}`],
  [`use ${"sk-"}ant-api03-${many("aB3x", 12)} here`, `${"sk-"}ant-api03-${many("aB3x", 12)}`],
  ["curl -H 'Authorization: Bearer 0a1b2c3d4e5f6a7b8c9d0e1f' https://x", "0a1b2c3d4e5f6a7b8c9d0e1f"],
  ["postgres://app:s3cr3tpassw0rd@db.internal:5432/app", "s3cr3tpassw0rd"],
  ["line\nDB_PASSWORD=hunter2hunter3\nnext", "hunter2hunter3"],
  ['{"password": "hunter2hunter3"} after', "hunter2hunter3"],
  [`before\n${PEM}after`, PEM.split("\n")[1] ?? ""],
  [`before\n${RSA}after`, RSA.split("\n")[9] ?? ""],
];

/** The longest part of the secret that can be read in one piece. */
function readable(out: string, secret: string): number {
  for (let length = secret.length; length > 0; length -= 1)
    for (let at = 0; at + length <= secret.length; at += 1) if (out.includes(secret.slice(at, at + length))) return length;
  return 0;
}

describe("a secret stream", () => {
  test.each(SPLIT)("shows no two halves of a secret, wherever %j is cut", (text, secret) => {
    const from = text.indexOf(secret);
    for (let cut = from + 1; cut < from + secret.length; cut += 3) {
      const stream = secretStream();
      const [first, second] = [stream.next(text.slice(0, cut)), stream.next(text.slice(cut))];
      if (from + secret.length - cut >= 6) expect(second).not.toContain(secret.slice(cut - from).slice(0, 6));
      expect(readable(first + second, secret)).toBeLessThan(Math.max(8, secret.length / 3));
    }
  });

  test("shows nothing of a private key that comes line by line, and all that follows it", () => {
    const stream = secretStream();
    const out = `words before\n${RSA}words after`
      .split(/(?<=\n)/)
      .map((line) => stream.next(line))
      .join("");
    for (const line of RSA.trim().split("\n").slice(1, -1)) expect(out).not.toContain(line);
    expect(out).toContain("words before\n");
    expect(out).toContain("words after");
  });

  test("leaves ordinary words, hashes and code as they are, however they are cut", () => {
    const text =
      "I ran the tests at 3f786850e387550fdab836ed7e6dc881de23001b; see https://example.com:8080/a?b=c and src/token.ts, key: value.\n";
    for (let cut = 1; cut < text.length; cut += 1) {
      const stream = secretStream();
      expect(stream.next(text.slice(0, cut)) + stream.next(text.slice(cut))).toBe(text);
    }
  });
});
