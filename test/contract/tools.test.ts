import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { generatedFiles } from "../../scripts/generated-files.ts";
import { listTools } from "../../scripts/listed-tools.ts";
import { instructionsFor } from "../../src/server/instructions.ts";
import { TOOLS } from "../../src/tools/index.ts";
import { ROOT } from "./support/lint.ts";

const files = await generatedFiles();
const listed = await listTools(TOOLS);
const readText = (path: string): string => readFileSync(join(ROOT, path), "utf8");

describe("generated files", () => {
  it.each(files)("$path is fresh (npm run generate)", ({ path, content }) => {
    expect(readText(path)).toBe(content);
  });
});

describe.each(listed)("$name", (tool) => {
  it("describes itself in at most 1,024 characters, as every client takes it", () => {
    expect(tool.description?.length).toBeGreaterThan(40);
    expect(tool.description?.length).toBeLessThanOrEqual(1_024);
    expect(tool.title).toMatch(/^[A-Z]/);
  });

  it("has a name that keeps within every client's prefix and limit", () => {
    expect(tool.name).toMatch(/^[a-z][a-z_]{0,46}$/);
  });

  it("states all four hints, and destructive is never said of a reading tool", () => {
    const hints = z.strictObject({
      title: z.string(),
      readOnlyHint: z.boolean(),
      destructiveHint: z.boolean(),
      idempotentHint: z.boolean(),
      openWorldHint: z.boolean(),
    });
    const { readOnlyHint, destructiveHint } = hints.parse(tool.annotations);
    expect(readOnlyHint && destructiveHint).toBe(false);
  });

  it("takes one flat, strict object whose every argument is described", () => {
    const schema = z.looseObject({
      type: z.literal("object"),
      additionalProperties: z.literal(false),
      properties: z.record(z.string(), z.looseObject({ description: z.string().min(5) })),
    });
    expect(schema.safeParse(tool.inputSchema).error?.issues ?? []).toEqual([]);
  });

  it("has schemas that simple clients read: no union at the top, no list of types", () => {
    for (const schema of [tool.inputSchema, tool.outputSchema]) {
      expect(Object.keys(schema ?? {}).filter((key) => ["anyOf", "oneOf", "allOf"].includes(key))).toEqual([]);
      expect(JSON.stringify(schema)).not.toMatch(/"type":\[/);
    }
  });

  it("answers with an object that has a summary", () => {
    expect(z.looseObject({ properties: z.looseObject({ summary: z.unknown() }) }).safeParse(tool.outputSchema).success).toBe(
      true,
    );
  });
});

describe("the tools together", () => {
  it("take a request_id wherever they write, and never where they read", () => {
    const odd = TOOLS.filter((tool) => "request_id" in tool.input.shape !== (tool.effect !== "read"));
    expect(odd.map((tool) => tool.name)).toEqual([]);
  });

  it("are introduced in at most 1 KB", () => {
    expect(Buffer.byteLength(instructionsFor(TOOLS.map((tool) => tool.name)))).toBeLessThanOrEqual(1_024);
  });
});

describe("published versions", () => {
  const manifest = z
    .looseObject({ version: z.string(), name: z.string(), mcpName: z.string() })
    .parse(JSON.parse(readText("package.json")));
  const entry = z
    .looseObject({
      name: z.string(),
      version: z.string(),
      packages: z.array(z.looseObject({ identifier: z.string(), version: z.string() })),
    })
    .parse(JSON.parse(readText("server.json")));

  it("agree between package.json and server.json", () => {
    expect([entry.name, entry.version]).toEqual([manifest.mcpName, manifest.version]);
    expect(entry.packages).toMatchObject([{ identifier: manifest.name, version: manifest.version }]);
  });
});
