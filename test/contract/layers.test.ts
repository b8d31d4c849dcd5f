import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type Finding, lintWith, ROOT } from "./support/lint.ts";
import { ALLOWED, PLANTS } from "./support/plants.ts";

const plants = PLANTS.map((plant, index) => ({ ...plant, file: `${plant.folder}/planted-${index}.ts` }));
const allowed = ALLOWED.map((row, index) => ({
  ...row,
  file: `${row.folder}/allowed-${index}.ts`,
  text: row.specifiers.map((specifier, n) => `import * as a${n} from "${specifier}";\nexport const b${n} = a${n};`).join("\n"),
}));
const CYCLE = {
  "src/loop/cycle-a.ts": 'import { b } from "./cycle-b.ts";\nexport const a = () => b;',
  "src/loop/cycle-b.ts": 'import { a } from "./cycle-a.ts";\nexport const b = () => a;',
};

let findings: readonly Finding[];
beforeAll(async () => {
  const planted = Object.fromEntries([
    ...plants.map(({ file, line }) => [file, line]),
    ...allowed.map(({ file, text }) => [file, text]),
  ]);
  findings = await lintWith({ ...planted, ...CYCLE });
});

const rulesAt = (file: string): string[] => findings.filter((finding) => finding.file === file).map(({ rule }) => rule);

describe("Biome", () => {
  it.each(plants)("refuses $what", ({ file, rule }) => {
    expect(rulesAt(file)).toContain(rule);
  });

  it("refuses an import cycle", () => {
    expect(rulesAt("src/loop/cycle-a.ts")).toContain("lint/suspicious/noImportCycles");
  });

  it.each(allowed)("allows every arrow of $folder", ({ file }) => {
    expect(rulesAt(file).filter((rule) => rule === "lint/style/noRestrictedImports")).toEqual([]);
  });

  it.each([
    ["src/config.ts", "lint/style/noProcessEnv"],
    ["src/run/clock.ts", "lint/style/noRestrictedGlobals"],
    ["src/checkpoint/git.ts", "lint/style/noRestrictedImports"],
    ["src/engine/process.ts", "lint/style/noRestrictedImports"],
  ])("lets %s alone do what it is there for", (file, rule) => {
    expect(rulesAt(file)).not.toContain(rule);
  });
});

const BEHIND_CONTEXT = /^(?!import type )(?:import|export)\b[^;]*?from "\.\.\/(?:store|checkpoint|engine|loop)\//gm;

describe("src/tools", () => {
  it("takes only types from store, checkpoint, engine and loop: their values come with the context", () => {
    const folder = join(ROOT, "src", "tools");
    const guilty = readdirSync(folder).filter(
      (name) => name.endsWith(".ts") && readFileSync(join(folder, name), "utf8").match(BEHIND_CONTEXT) !== null,
    );
    expect(guilty).toEqual([]);
  });

  it.each([
    'import { openStore } from "../store/store.ts";',
    'import {\n  a,\n  type B,\n} from "../engine/acp.ts";',
    'export { drive } from "../loop/loop.ts";',
  ])("would be seen taking a value: %j", (line) => {
    expect(`import type { A } from "../store/store.ts";\n${line}`.match(BEHIND_CONTEXT)).toHaveLength(1);
  });
});
