import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openApiDocument } from "../../src/server/openapi.ts";
import { PROBLEM_KINDS } from "../../src/server/problem.ts";
import { routesOf } from "../../src/server/routes.ts";
import { TOOLS } from "../../src/tools/index.ts";
import { VIEWS } from "../../src/tools/views.ts";
import { VERSION } from "../../src/version.ts";
import { DOCUMENT, OPERATIONS } from "../support/openapi.ts";

const routes = routesOf(TOOLS);

describe("the REST routes", () => {
  it("lead to every tool and every reading of pages, reading ones by GET and the others by POST", () => {
    expect(new Set(routes.map((route) => route.tool.name))).toEqual(new Set([...TOOLS, ...VIEWS].map((tool) => tool.name)));
    for (const { tool, method } of routes)
      expect([tool.name, method]).toEqual([tool.name, tool.effect === "read" ? "GET" : "POST"]);
  });

  it("take path arguments that their tools have, and reading ones nothing that a query cannot hold", () => {
    for (const { tool, method, path_arguments } of routes) {
      expect(Object.keys(tool.input.shape)).toEqual(expect.arrayContaining([...path_arguments]));
      if (method === "POST") continue;
      const { properties } = z
        .looseObject({ properties: z.record(z.string(), z.looseObject({ type: z.string() })) })
        .parse(z.toJSONSchema(tool.input, { io: "input" }));
      for (const { type } of Object.values(properties)) expect(["string", "number", "integer", "boolean"]).toContain(type);
    }
  });

  it("miss no tool: one that no route leads to is refused at start", () => {
    const [tool] = TOOLS;
    if (tool === undefined) throw new Error("no tools");
    expect(() => routesOf([...TOOLS, { ...tool, name: "run_fly" }])).toThrow("run_fly");
  });
});

describe("the OpenAPI document", () => {
  it("is a valid OpenAPI 3.1 document", async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(z.record(z.string(), z.unknown()).parse(DOCUMENT)));
    expect(result.errors ?? []).toEqual([]);
    expect({ valid: result.valid, version: validator.version }).toEqual({ valid: true, version: "3.1" });
  });

  it("is the one that this version serves", () => {
    expect(DOCUMENT).toEqual(JSON.parse(JSON.stringify(openApiDocument(TOOLS, VERSION))));
  });

  it("lists exactly the routes, the streams, the session and itself", () => {
    expect(OPERATIONS.toSorted()).toEqual(
      [
        ...routes.map((route) => `${route.method} ${route.path}`),
        "GET /api/events",
        "GET /api/runs/{run_id}/events",
        "POST /api/session",
        "GET /api/session",
        "DELETE /api/session",
        "GET /api/openapi.json",
      ].toSorted(),
    );
  });

  it("names each operation once, and every code of a problem", () => {
    const { paths } = z
      .looseObject({ paths: z.record(z.string(), z.record(z.string(), z.looseObject({ operationId: z.string() }))) })
      .parse(DOCUMENT);
    const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map((operation) => operation.operationId));
    expect(new Set(ids).size).toBe(ids.length);
    expect(DOCUMENT).toMatchObject({
      components: { schemas: { Problem: { properties: { code: { enum: Object.keys(PROBLEM_KINDS) } } } } },
    });
  });
});
