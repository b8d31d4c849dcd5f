import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { ROOT } from "./support/lint.ts";

const read = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), "utf8"));

// better-sqlite3 carries its binaries, but npm builds every package that has a binding.gyp unless it is told not to: npm 11 by
// `allowScripts`, npm 10 by `gypfile` in the lock file, which `npm install` drops. Without them `npm ci` wants Python and a compiler.
it("installs without a compiler: no npm is asked to build better-sqlite3", () => {
  const manifest = z.looseObject({ allowScripts: z.record(z.string(), z.boolean()) }).parse(read("package.json"));
  expect(manifest.allowScripts).toEqual({ "better-sqlite3": false, node: true });
  const lock = z
    .looseObject({ packages: z.record(z.string(), z.looseObject({ gypfile: z.boolean().optional() })) })
    .parse(read("package-lock.json"));
  expect(lock.packages["node_modules/better-sqlite3"]?.gypfile).toBe(false);
});

it("pins every dependency to one version", () => {
  const versions = z.record(z.string(), z.string());
  const { dependencies, devDependencies } = z
    .looseObject({ dependencies: versions, devDependencies: versions })
    .parse(read("package.json"));
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version));
  expect(loose).toEqual([]);
});
