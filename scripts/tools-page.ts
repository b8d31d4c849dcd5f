import { z } from "zod";
import { routesOf } from "../src/server/routes.ts";
import { TOOLS } from "../src/tools/index.ts";
import type { ListedTool } from "./listed-tools.ts";
import { code, GENERATED, page, table } from "./markdown.ts";

const schemaNode = z.looseObject({
  type: z.string().optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  get items() {
    return schemaNode.optional();
  },
  get anyOf() {
    return z.array(schemaNode).optional();
  },
  get oneOf() {
    return z.array(schemaNode).optional();
  },
  get properties() {
    return z.record(z.string(), schemaNode).optional();
  },
  required: z.array(z.string()).optional(),
});
type SchemaNode = z.infer<typeof schemaNode>;

/** Reference of every tool, made from what tools/list answers. */
export function toolsPage(tools: readonly ListedTool[]): string {
  return page([
    "# Tools",
    GENERATED,
    "Every tool takes one flat object; an unknown argument is refused and named. The same tools are commands of the command line and addresses of `loopkeeper serve`, which takes the arguments that its path does not hold from the query or from a JSON body ([openapi.json](openapi.json)).",
    ...tools.flatMap(toolSection),
  ]);
}

const ROUTES = routesOf(TOOLS);

function addressesOf(name: string): string {
  const own = ROUTES.filter((route) => route.tool.name === name);
  return own.map(({ method, path }) => code(`${method} ${path}`)).join(", ");
}

function toolSection(tool: ListedTool): string[] {
  const input = schemaNode.parse(tool.inputSchema);
  const output = schemaNode.parse(tool.outputSchema ?? {});
  return [
    `## ${tool.name}`,
    tool.description ?? "",
    `${effectOf(tool)}. Over HTTP: ${addressesOf(tool.name)}.`,
    table(["argument", "type", "about"], argumentRows(input)),
    `Answers with ${Object.keys(output.properties ?? {})
      .map(code)
      .join(", ")}.`,
  ];
}

function effectOf(tool: ListedTool): string {
  const { readOnlyHint, destructiveHint, idempotentHint } = tool.annotations ?? {};
  const effect = readOnlyHint === true ? "Reads only" : destructiveHint === true ? "Destructive" : "Writes";
  return idempotentHint === true ? `${effect}; repeating the same call has no further effect` : effect;
}

function argumentRows(input: SchemaNode): string[][] {
  const required = input.required ?? [];
  return Object.entries(input.properties ?? {}).map(([name, node]) => [
    required.includes(name) ? code(name) : `${code(name)} (optional)`,
    code(typeText(node)),
    `${node.description ?? ""}${node.default === undefined ? "" : ` Default ${code(JSON.stringify(node.default))}.`}`.trim(),
  ]);
}

function typeText(node: SchemaNode): string {
  if (node.enum !== undefined) return node.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (node.const !== undefined) return JSON.stringify(node.const);
  const members = node.anyOf ?? node.oneOf;
  if (members !== undefined) return members.map(typeText).join(" | ");
  if (node.type === "array") return `${node.items === undefined ? "unknown" : typeText(node.items)}[]`;
  if (node.type === "object") return `{${Object.keys(node.properties ?? {}).join(", ")}}`;
  return `${node.type ?? "unknown"}${rangeText(node)}`;
}

/** Zod writes the bounds of a safe integer where none were set; those say nothing. */
function rangeText(node: SchemaNode): string {
  const from = node.minimum === Number.MIN_SAFE_INTEGER ? undefined : node.minimum;
  const to = node.maximum === Number.MAX_SAFE_INTEGER ? undefined : node.maximum;
  return from === undefined && to === undefined ? "" : ` ${from ?? ""}..${to ?? ""}`;
}
