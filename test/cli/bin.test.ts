import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";

const BIN = join(import.meta.dirname, "../../dist/bin/loopkeeper.js");
const home = mkdtempSync(join(tmpdir(), "lk-cli-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

function loopkeeper(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = { PATH: process.env["PATH"], HOME: home, LOOPKEEPER_HOME: join(home, "state"), LOOPKEEPER_LOG: "error" };
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, ...words], { cwd: home, env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

it("prints the structured answer alone on stdout with --json", async () => {
  const { code, out } = await loopkeeper("list", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ runs: [], total: 0, next_cursor: null });
});

it("prints an error on stderr alone, with exit code 1", async () => {
  const { code, out, err } = await loopkeeper("start", "do it", "--repo", join(home, "nowhere"));
  expect([code, out]).toEqual([1, ""]);
  expect(err).toMatch(/^repository_problem: /);
});

it("lists its commands and explains them", async () => {
  const { out } = await loopkeeper("--help");
  expect(out).toMatch(/^ {2}resume {2,}Resume a stopped run$/m);
  expect((await loopkeeper("help", "resume")).out).toContain("Usage: loopkeeper resume <run-id>");
});
