import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { startServe } from "../support/serve.ts";
import { hermeticEnvironment } from "./launch.ts";
import { withToken } from "./support/with-token.ts";

const SUITE = join(import.meta.dirname, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const UNSERVED = join(import.meta.dirname, "conformance-unserved.yaml");

const folder = await mkdtemp(join(tmpdir(), "lane-conformance-"));
const serve = await startServe({ ...hermeticEnvironment(folder), LOOPKEEPER_HOME: join(folder, "loopkeeper") });
const open = await withToken(serve);

afterAll(async () => {
  open.close();
  serve.child.kill("SIGTERM");
  await serve.exit();
  await rm(folder, { recursive: true, force: true });
});

test.each(["2025-11-25", "2026-07-28"])(
  "MCP over HTTP is what revision %s requires, as far as it is served",
  async (revision) => {
    const url = `http://localhost:${open.port}/mcp`;
    const told = await suite(["server", "--url", url, "--requirements", revision, "--expected-failures", UNSERVED]);
    expect(told).toContain("Baseline check passed");
    expect(told).toContain("✓ dns-rebinding-protection: 2 passed");
  },
);

function suite(words: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [SUITE, ...words], { cwd: folder }, (_error, stdout, stderr) => resolve(`${stdout}${stderr}`));
  });
}
