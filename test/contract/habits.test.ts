import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./support/lint.ts";

interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
}

const SOURCES = [...read("src"), ...read("console")];
const TESTS = read("test").filter(({ path }) => !path.startsWith("test/agents/"));
const HERE = relative(ROOT, import.meta.filename);

function read(folder: string): SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/u.test(entry.name) && !entry.parentPath.includes("node_modules"))
    .map((entry) => {
      const full = join(entry.parentPath, entry.name);
      const text = readFileSync(full, "utf8");
      return { path: relative(ROOT, full), text, lines: text.split("\n").length - 1 };
    });
}

function matching(files: readonly SourceFile[], pattern: RegExp): string[] {
  return files.filter(({ path, text }) => path !== HERE && pattern.test(text)).map(({ path }) => path);
}

describe("source files", () => {
  const sizes = SOURCES.map(({ lines }) => lines).sort((a, b) => a - b);
  const at = (share: number): number => sizes[Math.floor((sizes.length - 1) * share)] ?? 0;

  it("stay at or under 400 lines", () => {
    expect(SOURCES.filter(({ lines }) => lines > 400).map(({ path, lines }) => `${path}: ${lines}`)).toEqual([]);
  });

  it("have a median of at most 120 lines, and 90 % of them at most 250", () => {
    expect(at(0.5)).toBeLessThanOrEqual(120);
    expect(at(0.9)).toBeLessThanOrEqual(250);
  });

  it.each([
    ["a TODO, FIXME or XXX", /\b(TODO|FIXME|XXX)\b/],
    ["a check that is switched off", /@ts-(ignore|expect-error|nocheck)|biome-ignore/],
  ])("hold no %s", (_what, pattern) => {
    expect(matching(SOURCES, pattern)).toEqual([]);
  });

  it("hold SQL only in src/store", () => {
    const outside = SOURCES.filter(({ path }) => !path.startsWith("src/store/"));
    expect(matching(outside, /\b(SELECT\s.+\sFROM|INSERT INTO|DELETE FROM|CREATE TABLE|ALTER TABLE)\b/)).toEqual([]);
  });
});

describe("tests", () => {
  it("never mock the product's own code", () => {
    expect(matching(TESTS, /\bvi\.(mock|doMock|spyOn)\(/)).toEqual([]);
  });

  it("have titles that state facts", () => {
    expect(matching(TESTS, /\b(it|test)(\.\w+)*\(\s*["'`]should\b/)).toEqual([]);
  });
});
