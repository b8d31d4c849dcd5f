import { createHash, generateKeyPairSync, randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { redact } from "../../src/redact/redact.ts";
import { newCheckpointId, newRunId } from "../../src/run/id.ts";

// Shapes are built here so that no scanner of this repository takes a test for a leak.
const many = (piece: string, times: number): string => piece.repeat(times);
const shell = (name: string): string => ["$", "{", name, "}"].join("");
const PEM = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();

const SECRETS: readonly (readonly [string, string, string])[] = [
  // [text, the part that must be gone, the kind that must be named]
  ["Authorization: Bearer abcdefgh12345678ijkl", "abcdefgh12345678ijkl", "authorization"],
  [`"authorization": "Basic ${many("dXNl", 5)}"`, many("dXNl", 5), "authorization"],
  ["curl -H 'Authorization: token 0123456789abcdef0123' https://api", "0123456789abcdef0123", "authorization"],
  ["sent bearer 0a1b2c3d4e5f6a7b8c9d to it", "0a1b2c3d4e5f6a7b8c9d", "bearer-token"],
  ["x-api-key: abcd1234efgh5678ijkl", "abcd1234efgh5678ijkl", "key"],
  ["Cookie: sid=8f7e6d5c4b; theme=dark", "8f7e6d5c4b", "cookie"],
  [`key is ${"sk-"}ant-api03-${many("aB3-", 12)}`, many("aB3-", 10), "anthropic-api-key"],
  [`${"sk-"}proj-${many("aB3", 12)}`, many("aB3", 12), "openai-api-key"],
  [`${"gh"}p_${many("a1B2", 9)}`, many("a1B2", 9), "github-token"],
  [`${"github"}_pat_${many("a1B2", 10)}`, many("a1B2", 10), "github-token"],
  [`${"gl"}pat-${many("a1B2-", 4)}`, many("a1B2-", 4), "gitlab-token"],
  [`aws_access_key_id = ${"AK"}IA${many("Q7RT", 4)}`, many("Q7RT", 4), "aws-access-key"],
  [`${"AI"}za${many("Sy4Bc", 7)}`, many("Sy4Bc", 7), "google-key"],
  [`${"xo"}xb-123456789012-${many("a1B2", 6)}`, many("a1B2", 6), "slack-token"],
  [`https://hooks.${"slack"}.com/services/T0AAAAAAA/B0AAAAAAA/${many("a1B2", 6)}`, many("a1B2", 6), "slack-webhook"],
  [`${"sk"}_live_${many("a1B2", 6)}`, many("a1B2", 6), "stripe-key"],
  [`${"np"}m_${many("a1B2", 9)}`, many("a1B2", 9), "npm-token"],
  [`${"h"}f_${many("a1B2", 9)}`, many("a1B2", 9), "huggingface-token"],
  [`eyJhbGciOiJIUzI1NiJ9.eyJ${many("zdWI", 8)}.${many("s5Gn", 10)}`, many("s5Gn", 10), "jwt"],
  ["postgres://app:s3cr3t@db.internal:5432/app", "s3cr3t", "url-password"],
  ["git clone https://bob:p%40ss@git.example.com/r.git", "p%40ss", "url-password"],
  ["GET /files?id=3&access_token=8f7e6d5c4b3a2910", "8f7e6d5c4b3a2910", "url-token"],
  ["curl -u bob:hunter2 https://x", "hunter2", "password"],
  ["DB_PASSWORD=hunter2", "hunter2", "password"],
  ['export DB_PASSWORD="correct horse battery"', "correct horse battery", "password"],
  ["+STRIPE_SECRET=whatever-it-is", "whatever-it-is", "secret"],
  ["AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "wJalrXUtnFEMI/K7MDENG", "key"],
  ['const dbPass = "hunter2";', "hunter2", "password"],
  ["SESSION_SECRET=ab&cd;ef", "cd;ef", "secret"],
  ['{"password": "correcthorse"}', "correcthorse", "password"],
  [JSON.stringify({ raw: JSON.stringify({ password: "hunter2" }) }), "hunter2", "password"],
  [String.raw`{"password": "hun\"ter22"}`, "ter22", "password"],
  ["const clientSecret = 'x1y2z3x1y2z3';", "x1y2z3x1y2z3", "secret"],
  ["Server=db;User Id=sa;Password=S3cret!;Encrypt=true", "S3cret!", "password"],
  ["db:\n  password: hunter2\n  user: app", "hunter2", "password"],
  ["deploy --token=abcd1234efgh5678", "abcd1234efgh5678", "token"],
  ["//registry.example.com/:_authToken=abcd1234efgh5678", "abcd1234efgh5678", "token"],
  ["machine git.example.com login bob password hunter2", "hunter2", "password"],
  [PEM, PEM.split("\n")[1] ?? "-", "private-key"],
  [JSON.stringify({ key: PEM }), PEM.split("\n")[1] ?? "-", "private-key"],
  [PEM.replaceAll(/^/gm, "-"), PEM.split("\n")[1] ?? "-", "private-key"],
  [PEM.slice(0, 120), PEM.slice(40, 90), "private-key"],
];

const READABLE: readonly string[] = [
  `commit ${createHash("sha1").update("a").digest("hex")} on main`,
  `sha256:${createHash("sha256").update("a").digest("hex")} and ${randomUUID()}`,
  `"integrity": "sha512-${createHash("sha512").update("a").digest("base64")}"`,
  `${newRunId()} at ${newCheckpointId()}, refs/loopkeeper/runs/${newRunId()}/${newCheckpointId()}`,
  `![](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA${many("AB12cd+/", 200)}`,
  "const password = req.body.password;\nif (password === other) return hash(password);",
  "interface Login { password: string; token: Token; apiKey?: string }",
  "schema = { password: z.string().min(8), token: hashToken(x), secret }",
  '<input type="password" name="password" placeholder="Password">',
  'password: "must be at least 8 characters"',
  "  password: hashedPassword\n  token: user.token\n",
  "MAX_TOKENS=32000\nTOKEN_URL=https://id.example.com/token\nPWD=/home/app",
  `API_KEY=$API_KEY PASSWORD=${shell("PASSWORD")} TOKEN=<your-token> SECRET=process.env.SECRET`,
  `https://user:${shell("PASSWORD")}@host and http://localhost:3000/@scope/name and git@host:owner/name.git`,
  "The token: it expired. pass: 12 tests, tokens: 5321, max_tokens: 8000.",
  'if (text.includes("-----BEGIN PRIVATE KEY-----") && text.includes("-----END PRIVATE KEY-----")) refuse();',
  '"pgpass": "1.0.5", "bypass": "always-on", ["user", "password", "repository"]',
  "r.ownPass===n.ownPass&&(null==(s=r.f)); const pass = !this.result.issues || x; progressToken: ProgressTokenSchema$1\n});",
  'readonly STENCIL_PASS_DEPTH_PASS: 0x0B96; { "PWD": "/Users/ann" } state === "pass" ? "pass" : "fail"; token is BlockMap',
  "FOREIGN_KEY=user_id PRIMARY_KEY=id .sk-loading-spinner-container-large",
  `Authorization: Bearer ${shell("token")}; send it as a bearer token in every request`,
];

describe("redact", () => {
  test.each(SECRETS)("takes the secret out of %j", (text, secret, kind) => {
    const out = redact(text);
    expect(out).not.toContain(secret);
    expect(out).toContain(`[redacted: ${kind}]`);
  });

  test.each(READABLE)("leaves %j as it is", (text) => {
    expect(redact(text)).toBe(text);
  });

  test("keeps the words around a secret", () => {
    expect(redact("before\nDB_PASSWORD=hunter2 # local\nafter")).toBe("before\nDB_PASSWORD=[redacted: password] # local\nafter");
    expect(redact(`a\n${PEM}b`)).toBe("a\n[redacted: private-key]\nb");
    expect(redact("postgres://app:pw@db/x")).toBe("postgres://app:[redacted: url-password]@db/x");
  });

  test("keeps the prose after a key whose end is missing", () => {
    expect(redact(`${PEM.slice(0, 120)}\nThat was the key.`)).toBe("[redacted: private-key]\nThat was the key.");
  });

  test.each(SECRETS)("changes nothing more on a second pass over %j", (text) => {
    expect(redact(redact(text))).toBe(redact(text));
  });

  // A quadratic rule would need minutes for these and run into the test's own limit; a linear one takes milliseconds.
  test.each([
    "a",
    "-----BEGIN PRIVATE KEY-----",
    "://a:",
    "password=",
    "password        ",
    'token: "',
    "eyJaaaaaaaaaa.",
    "sk-",
    "curl -u ",
    "authorization: ",
    "SECRET_KEY",
    "\\",
    'secret:"\\',
  ])("ends on a megabyte of %j", (piece) => {
    const text = many(piece, Math.ceil(1e6 / piece.length));
    expect(redact(text).length).toBeGreaterThan(0);
  });
});
