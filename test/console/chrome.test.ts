import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "lk-chrome-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const program = (name: string): string => {
  const path = join(folder, name);
  writeFileSync(path, "#!/bin/sh\n", { mode: 0o755 });
  return path;
};

function looked(env: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve) => {
    const script = join(import.meta.dirname, "../support/chrome.ts");
    execFile(process.execPath, [script], { env: { ...env } }, (_error, out, err) => resolve(out + err));
  });
}

it("the browser of the tests is the named one, else one on PATH", async () => {
  const onPath = program("google-chrome-stable");
  const named = program("mine");
  expect(await looked({ PATH: folder })).toBe(`${onPath}\n`);
  expect(await looked({ PATH: folder, CHROME_PATH: named })).toBe(`${named}\n`);
  expect(await looked({ PATH: folder, CHROME_PATH: folder })).toContain(`CHROME_PATH is ${folder}, which is no program.`);
});
