import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";

type JsonSchema = Record<string, unknown>;

const listed = new WeakMap<z.ZodObject, { input?: JsonSchema; output?: JsonSchema }>();

/**
 * A schema that clients see in full and the SDK does not check: arguments are checked by the one wrapper that every door
 * uses, so that a fault reads the same everywhere and names the known arguments.
 */
export function listedSchema(schema: z.ZodObject): StandardSchemaWithJSON {
  return {
    "~standard": {
      version: 1,
      vendor: "loopkeeper",
      validate: (value) => ({ value }),
      jsonSchema: { input: () => jsonSchemaOf(schema, "input"), output: () => jsonSchemaOf(schema, "output") },
    },
  };
}

/** Made once for a schema: the SDK asks for it at every list and every call. */
function jsonSchemaOf(schema: z.ZodObject, io: "input" | "output"): JsonSchema {
  const made = listed.get(schema) ?? {};
  listed.set(schema, made);
  made[io] ??= splitTypes(z.toJSONSchema(schema, { io }));
  return made[io];
}

/** Zod writes a nullable string as `type: ["string", "null"]`, which not every client reads; `anyOf` is read by all. */
function splitTypes(node: object): JsonSchema {
  const entries = Object.entries(node).map(([key, value]: [string, unknown]): [string, unknown] => {
    if (key === "type" && Array.isArray(value)) return ["anyOf", value.map((type) => ({ type }))];
    return [key, splitInside(value)];
  });
  return Object.fromEntries(entries);
}

function splitInside(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(splitInside);
  return typeof value === "object" && value !== null ? splitTypes(value) : value;
}
