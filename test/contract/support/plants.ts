/** A line that breaks a rule of the code, where it is planted, and the rule that has to see it. */
export interface Plant {
  readonly what: string;
  readonly folder: string;
  readonly line: string;
  readonly rule: string;
}

const IMPORTS = "lint/style/noRestrictedImports";

function foreign(folder: string, specifiers: readonly string[]): Plant[] {
  return specifiers.map((specifier) => ({
    what: `src/${folder} importing ${specifier}`,
    folder: `src/${folder}`,
    line: `import { planted } from "${specifier}";\nplanted();`,
    rule: IMPORTS,
  }));
}

/** One forbidden arrow or package of every folder. */
const FORBIDDEN_IMPORTS: readonly Plant[] = [
  ...foreign("run", ["../store/store.ts", "node:fs", "pino", "node:child_process"]),
  ...foreign("redact", ["../run/id.ts", "node:fs", "zod"]),
  ...foreign("store", [
    "../checkpoint/checkpoint.ts",
    "../engine/engine.ts",
    "../resume/gate.ts",
    "../app.ts",
    "@agentclientprotocol/sdk",
    "node:child_process",
  ]),
  ...foreign("store/migrations", ["../../engine/engine.ts", "../../checkpoint/git.ts"]),
  ...foreign("checkpoint", ["../store/store.ts", "../engine/process.ts", "better-sqlite3", "node:child_process"]),
  ...foreign("engine", [
    "../store/store.ts",
    "../checkpoint/git.ts",
    "../loop/loop.ts",
    "@modelcontextprotocol/server",
    "node:child_process",
  ]),
  ...foreign("engine/profiles", ["../../store/store.ts", "../../config.ts"]),
  ...foreign("resume", ["../engine/engine.ts", "../loop/loop.ts", "../tools/call.ts", "kysely"]),
  ...foreign("loop", [
    "../engine/acp.ts",
    "../engine/process.ts",
    "../tools/call.ts",
    "../server/mcp.ts",
    "@agentclientprotocol/sdk",
  ]),
  ...foreign("tools", [
    "../server/mcp.ts",
    "../cli/cli.ts",
    "../app.ts",
    "@modelcontextprotocol/server",
    "@hono/node-server",
    "pg",
  ]),
  ...foreign("server", ["../store/store.ts", "../resume/gate.ts", "../cli/cli.ts", "../config.ts", "kysely"]),
  ...foreign("cli", [
    "hono",
    "../store/store.ts",
    "../resume/gate.ts",
    "../server/mcp.ts",
    "../engine/engine.ts",
    "@modelcontextprotocol/server",
  ]),
  ...foreign("a-new-folder", ["kysely", "@agentclientprotocol/sdk"]),
  ...foreign("bin", ["kysely", "@modelcontextprotocol/server", "node:child_process"]),
];

const TYPE_AND_DYNAMIC: readonly Plant[] = [
  {
    what: "a forbidden type import",
    folder: "src/store",
    line: 'import type { Engine } from "../engine/engine.ts";\nexport type Planted = Engine;',
    rule: IMPORTS,
  },
  {
    what: "a forbidden dynamic import",
    folder: "src/engine",
    line: 'export const planted = import("../store/store.ts");',
    rule: IMPORTS,
  },
  { what: "a forbidden re-export", folder: "src/cli", line: 'export { planted } from "../store/store.ts";', rule: IMPORTS },
  {
    what: "a forbidden import by a detour",
    folder: "src/store",
    line: 'import { planted } from "./../engine/engine.ts";\nplanted();',
    rule: IMPORTS,
  },
];

const HABITS: readonly Plant[] = [
  { what: "a type assertion", folder: "src/server", line: "export const planted = JSON.parse('1') as number;", rule: "plugin" },
  { what: "a double type assertion", folder: "src/loop", line: "export const planted = 1 as unknown as string;", rule: "plugin" },
  {
    what: "an angle-bracket assertion",
    folder: "src/run",
    line: "export const planted = <string>JSON.parse('1');",
    rule: "plugin",
  },
  { what: "any", folder: "src/run", line: "export let planted: any;", rule: "lint/suspicious/noExplicitAny" },
  {
    what: "a non-null assertion",
    folder: "src/store",
    line: "export const planted = [1][0]!;",
    rule: "lint/style/noNonNullAssertion",
  },
  { what: "a default export", folder: "src/cli", line: "export default 1;", rule: "lint/style/noDefaultExport" },
  { what: "an enum", folder: "src/run", line: "export enum Planted { a }", rule: "lint/style/noEnum" },
  {
    what: "a namespace",
    folder: "src/run",
    line: "export namespace Planted { export const a = 1; }",
    rule: "lint/style/noNamespace",
  },
  {
    what: "a parameter property",
    folder: "src/run",
    line: "export class Planted { constructor(readonly a: number) {} }",
    rule: "lint/style/noParameterProperties",
  },
  { what: "a barrel", folder: "src/engine", line: 'export * from "./engine.ts";', rule: "lint/performance/noReExportAll" },
  {
    what: "an import without its extension",
    folder: "src/engine",
    line: 'import { planted } from "./engine";\nplanted();',
    rule: "lint/correctness/useImportExtensions",
  },
  {
    what: "a built-in without node:",
    folder: "src/store",
    line: 'import { readFileSync } from "fs";\nreadFileSync("x");',
    rule: "lint/style/useNodejsImportProtocol",
  },
  {
    what: "the environment outside the configuration",
    folder: "src/engine",
    line: "export const planted = process.env;",
    rule: "lint/style/noProcessEnv",
  },
  {
    what: "the clock outside run/clock",
    folder: "src/loop",
    line: "export const planted = Date.now();",
    rule: "lint/style/noRestrictedGlobals",
  },
  {
    what: "a date made outside run/clock",
    folder: "src/store",
    line: "export const planted = new Date(0);",
    rule: "lint/style/noRestrictedGlobals",
  },
  { what: "the console", folder: "src/tools", line: 'console.log("planted");', rule: "lint/suspicious/noConsole" },
  {
    what: "a package that package.json does not name",
    folder: "src/engine",
    line: 'import { planted } from "left-pad";\nplanted();',
    rule: "lint/correctness/noUndeclaredDependencies",
  },
  {
    what: "a focused test",
    folder: "test/planted",
    line: 'import { it } from "vitest";\nit.only("x", () => {});',
    rule: "lint/suspicious/noFocusedTests",
  },
  {
    what: "a skipped test",
    folder: "test/planted",
    line: 'import { it } from "vitest";\nit.skip("x", () => {});',
    rule: "lint/suspicious/noSkippedTests",
  },
];

export const PLANTS: readonly Plant[] = [...FORBIDDEN_IMPORTS, ...TYPE_AND_DYNAMIC, ...HABITS];

/** Every arrow that is allowed: none of these may be reported. */
export const ALLOWED: readonly { readonly folder: string; readonly specifiers: readonly string[] }[] = [
  { folder: "src/run", specifiers: ["zod", "node:crypto", "./clock.ts"] },
  { folder: "src/store", specifiers: ["../run/run.ts", "./store.ts", "kysely", "pg", "better-sqlite3", "node:fs"] },
  { folder: "src/store/migrations", specifiers: ["../../run/run.ts", "../schema.ts", "kysely"] },
  { folder: "src/checkpoint", specifiers: ["../run/id.ts", "./git.ts", "node:fs/promises"] },
  { folder: "src/engine", specifiers: ["../run/report.ts", "./process.ts", "@agentclientprotocol/sdk"] },
  { folder: "src/engine/profiles", specifiers: ["../../run/run.ts", "../engine.ts"] },
  { folder: "src/resume", specifiers: ["../run/run.ts", "../store/store.ts", "../checkpoint/checkpoint.ts"] },
  {
    folder: "src/loop",
    specifiers: ["../run/run.ts", "../store/store.ts", "../checkpoint/checkpoint.ts", "../engine/engine.ts", "../resume/gate.ts"],
  },
  { folder: "src/tools", specifiers: ["../run/run.ts", "../resume/gate.ts", "./call.ts", "zod"] },
  { folder: "src/server", specifiers: ["../run/run.ts", "../tools/call.ts", "@modelcontextprotocol/server", "hono"] },
  { folder: "src/cli", specifiers: ["../run/errors.ts", "../tools/call.ts", "../resume/shown.ts", "node:util"] },
  { folder: "src/bin", specifiers: ["../app.ts", "../config.ts"] },
];
