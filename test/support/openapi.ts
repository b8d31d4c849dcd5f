import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { z } from "zod";

/** The committed OpenAPI document, and whether an answer is as it says. */
export const DOCUMENT: unknown = JSON.parse(readFileSync(join(import.meta.dirname, "../../docs/openapi.json"), "utf8"));

const responseSchema = z.looseObject({
  $ref: z.string().optional(),
  content: z.record(z.string(), z.looseObject({})).optional(),
});
const documentSchema = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ responses: z.record(z.string(), responseSchema) }))),
  components: z.looseObject({ responses: z.record(z.string(), responseSchema) }),
});
const { paths, components } = documentSchema.parse(DOCUMENT);

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(z.record(z.string(), z.unknown()).parse(DOCUMENT), "api");

/** Method and path template of every operation, e.g. `GET /api/runs/{run_id}`. */
export const OPERATIONS: readonly string[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
);

/** What of an answer is not as the document has it; null when all of it is. Paths that it does not have are not looked at. */
export function contradiction(method: string, path: string, response: Response, body: unknown): string | null {
  const template = templateOf(path.split("?")[0] ?? "");
  const operation = template === null ? undefined : paths[template]?.[method.toLowerCase()];
  if (template === null || operation === undefined) return null;
  const where = `${method} ${template} ${response.status}`;
  const named = operation.responses[String(response.status)];
  if (named === undefined) return `${where} is not in the document`;
  const name = named.$ref?.split("/").at(-1);
  const described = name === undefined ? named : components.responses[name];
  const media = response.headers.get("content-type")?.split(";")[0] ?? "";
  if (described?.content === undefined) return media === "" ? null : `${where} has no content in the document`;
  if (described.content[media] === undefined) return `${where} does not have ${media}`;
  const pointer =
    name === undefined
      ? ["paths", template, method.toLowerCase(), "responses", String(response.status)]
      : ["components", "responses", name];
  const at = [...pointer, "content", media, "schema"].map((part) => part.replaceAll("~", "~0").replaceAll("/", "~1"));
  const validate = ajv.compile({ $ref: `api#/${at.map(encodeURIComponent).join("/")}` });
  return validate(body) ? null : `${where}: ${ajv.errorsText(validate.errors)}`;
}

function templateOf(path: string): string | null {
  if (paths[path] !== undefined) return path;
  const fits = (template: string): boolean => new RegExp(`^${template.replaceAll(/\{\w+\}/gu, "[^/]+")}$`, "u").test(path);
  return Object.keys(paths).find(fits) ?? null;
}
