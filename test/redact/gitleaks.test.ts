import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { keywordScanner } from "../../src/redact/keywords.ts";
import { redact, redactCommand, redactExcept, redactPart, secretKinds } from "../../src/redact/redact.ts";

const table = z
  .looseObject({
    source: z.string(),
    license: z.string(),
    rules: z.array(z.looseObject({ id: z.string(), keywords: z.array(z.string()) })),
  })
  .parse(JSON.parse(readFileSync(new URL("../../src/redact/gitleaks-rules.json", import.meta.url), "utf8")));

// Shapes are built here so that no scanner of this repository takes a test for a leak.
const letters = (n: number, seed = 7): string =>
  Array.from({ length: n }, (_, i) => "abcdefghijkmnpqrstuvwxyz23456789"[(i * 11 + seed * (i % 7)) % 32]).join("");
const hex = (n: number): string => Array.from({ length: n }, (_, i) => "0123456789abcdef"[(i * 7 + (i % 5)) % 16]).join("");

describe("the rules of gitleaks", () => {
  test("name their version and license and are many", () => {
    expect(table.source).toMatch(/gitleaks v\d+\.\d+\.\d+/u);
    expect(table.license).toContain("MIT License");
    expect(table.rules.length).toBeGreaterThan(200);
  });

  test.each([
    ["1password-service-account-token", `${"op"}s_eyJ${letters(260)}`],
    ["artifactory-api-key", `${"AK"}Cp${letters(69)}`],
    ["digitalocean-pat", `${"do"}p_v1_${hex(64)}`],
    ["flyio-access-token", `${"fo"}1_${letters(43)}`],
    ["grafana-service-account-token", `${"gl"}sa_${letters(32)}_${hex(8)}`],
    ["heroku-api-key", "heroku_api_key = 12345678-ABCD-ef01-2345-6789abcdef01"],
    ["linear-api-key", `${"li"}n_api_${letters(40)}`],
    ["mailchimp-api-key", `mailchimp_key: "${hex(32)}-us12"`],
    ["new-relic-user-api-key", `new-relic key = "${"NR"}AK-${letters(27).toUpperCase()}"`],
    ["perplexity-api-key", `${"pp"}lx-${letters(48)}`],
    ["planetscale-api-token", `${"ps"}cale_tkn_${letters(43)}`],
    ["postman-api-token", `${"PM"}AK-${hex(24)}-${hex(34)}`],
    ["prefect-api-token", `${"pn"}u_${letters(36)}`],
    ["pulumi-api-token", `${"pu"}l-${hex(40)}`],
    ["shopify-access-token", `${"sh"}pat_${hex(32)}`],
    ["sourcegraph-access-token", `${"sg"}p_${hex(40)}`],
  ])("find a %s", (kind, text) => {
    const out = redact(`before ${text} after`);
    expect(out).toMatch(/\[redacted: [\w-]+\]/u);
    expect(out).not.toContain(text.slice(-12));
    expect(kind.length).toBeGreaterThan(0);
  });

  test("take no checksum or id for the key of a service that is named beside it", () => {
    for (const text of [
      `fastly = ${hex(32)}`,
      `sourcegraph is at ${hex(40)} now`,
      "heroku: 12345678-abcd-ef01-2345-6789abcdef01",
      `datadog commit: ${hex(40)}`,
    ])
      expect(redact(text)).toBe(text);
  });

  test("end on much text that begins like each of them", () => {
    for (const rule of table.rules) {
      const [word = ""] = rule.keywords;
      const text = `${word}_key = "${word}${letters(9)} ${word}: ${word}-${word}.eyJ`.repeat(1000);
      expect(redact(text).length).toBeGreaterThan(0);
    }
  }, 60_000);
});

describe("redact at size", () => {
  test("ends on a single line of 40 MB, and finds what stands in it", () => {
    const piece = '{"id":12345,"token_count":17,"text":"lorem ipsum dolor sit amet, consectetur","path":"src/a.ts","ok":true},';
    const line = piece.repeat(Math.ceil(20e6 / piece.length));
    const out = redact(`${line}DB_PASSWORD=hunter2 ${line}`);
    expect(out.length).toBeGreaterThan(40e6);
    expect(out).toContain(" DB_PASSWORD=[redacted: password] ".trim());
    expect(out).not.toContain("hunter2");
  }, 120_000);
});

describe("the keyword scanner", () => {
  test("finds words inside and behind one another, in any case, and no others", () => {
    const scan = keywordScanner(["she", "he", "hers", "ushers!", "x"]);
    expect([...scan("USHERS and them")].sort()).toEqual(["he", "hers", "she"]);
    expect([...scan("shé heé")].sort()).toEqual(["he"]);
    expect([...scan("")]).toEqual([]);
  });
});

describe("the other ways in", () => {
  test("a command keeps words behind names and loses tokens", () => {
    const token = `${"gh"}p_${letters(36)}`;
    expect(redactCommand(`DB_PASSWORD=test npm test -- --token ${token}`)).toBe(
      "DB_PASSWORD=test npm test -- --token [redacted: github-token]",
    );
  });

  test("an answer keeps the words that it is told to keep", () => {
    const token = `eyJ${letters(80)}.${letters(43)}`;
    expect(redactExcept(`confirm_token: ${token}, DB_PASSWORD=hunter2`, [token])).toBe(
      `confirm_token: ${token}, DB_PASSWORD=[redacted: password]`,
    );
  });

  test("a part of a text shows no half of what stands over its ends", () => {
    const token = `${"gh"}p_${letters(36)}`;
    expect(redactPart(`a ${token.slice(0, 20)}`, `${token.slice(20)} b DB_PASSWORD=hun`, "ter2 c")).toBe(
      "[redacted: github-token] b DB_PASSWORD=[redacted: password]",
    );
  });

  test("kinds are named once each", () => {
    expect(secretKinds("DB_PASSWORD=hunter2 A_PASSWORD=hunter3 x")).toEqual(["password"]);
  });
});
