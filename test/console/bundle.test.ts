import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

const BUILT = join(import.meta.dirname, "../../dist/console");
const LIMIT_BYTES = 150_000;

it("the console's first load is at most 150 kB compressed, and charts are none of it", () => {
  const page = readFileSync(join(BUILT, "index.html"), "utf8");
  const first = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/gu)].map(([, path = ""]) => path);
  expect(first.length).toBeGreaterThan(1);
  const bytes = first.reduce((sum, path) => sum + gzipSync(readFileSync(join(BUILT, path))).length, gzipSync(page).length);
  expect(bytes).toBeLessThanOrEqual(LIMIT_BYTES);
  const charts = readdirSync(join(BUILT, "assets")).filter((name) =>
    readFileSync(join(BUILT, "assets", name), "utf8").includes("uplot"),
  );
  expect(charts.length).toBeGreaterThan(0);
  expect(charts.some((name) => first.includes(`/assets/${name}`))).toBe(false);
});
