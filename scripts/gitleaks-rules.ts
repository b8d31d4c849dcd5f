// Converts the rules of gitleaks to src/redact/gitleaks-rules.json. Run by hand when they are taken over anew:
//   node scripts/gitleaks-rules.ts <gitleaks.toml> <LICENSE> <version>
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toJavaScript } from "./re2-to-js.ts";
import { parseToml, type Table } from "./toml.ts";

/** Rules that are left out, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "generic-api-key":
    "measures randomness of any value behind a name and takes checksums away; redact/assignments.ts has the names",
  "curl-auth-header": "more than linear in time; the authorization rule sees such headers",
  "curl-auth-user": "more than linear in time; own rule",
  "kubernetes-secret-yaml": "more than linear in time; own rule",
  "hashicorp-tf-password": "true of Terraform files only; redact/assignments.ts has passwords",
  "private-key": "wants both boundaries; own rule sees keys that are cut",
};
/** Rules with a part that every commit id fits. */
const REPLACED: Readonly<Record<string, string>> = {
  "sourcegraph-access-token": String.raw`(?i)\b(sgp_(?:(?:[a-f0-9]{16}|local)_)?[a-f0-9]{40})\b`,
};

const [tomlPath = "", licensePath = "", version = ""] = process.argv.slice(2);
const config = parseToml(readFileSync(tomlPath, "utf8"));

const rules = config.rules
  .filter((rule) => typeof rule["regex"] === "string" && LEFT_OUT[text(rule["id"])] === undefined)
  .map((rule) => {
    const id = text(rule["id"]);
    const regex = toJavaScript(REPLACED[id] ?? text(rule["regex"]));
    new RegExp(regex.source, regex.flags);
    return {
      id,
      source: regex.source,
      flags: regex.flags,
      keywords: texts(rule["keywords"]).map((word) => word.toLowerCase()),
      entropy: typeof rule["entropy"] === "number" ? rule["entropy"] : 0,
      group: typeof rule["secretGroup"] === "number" ? rule["secretGroup"] : 0,
      // Allowlists of paths say nothing about a text.
      allow: (rule.allowlists ?? []).filter((list) => list["paths"] === undefined).map(allowlist),
    };
  });

const global = config.allowlist ?? {};
const target = join(import.meta.dirname, "..", "src", "redact", "gitleaks-rules.json");
writeFileSync(
  target,
  `${JSON.stringify(
    {
      source: `gitleaks ${version}, config/gitleaks.toml (https://github.com/gitleaks/gitleaks), converted by scripts/gitleaks-rules.ts`,
      license: readFileSync(licensePath, "utf8").trim(),
      left_out: LEFT_OUT,
      allow: allowlist({ regexes: global["regexes"] ?? [], stopwords: global["stopwords"] ?? [] }),
      rules,
    },
    null,
    2,
  )}\n`,
);
console.log(`${rules.length} rules; now: npx biome format --write ${target}`);

function allowlist(list: Table): { target: string; regexes: unknown[]; stopwords: string[] } {
  return {
    target: list["regexTarget"] === undefined ? "secret" : text(list["regexTarget"]),
    regexes: texts(list["regexes"]).map((source) => toJavaScript(source)),
    stopwords: texts(list["stopwords"]).map((word) => word.toLowerCase()),
  };
}

function text(value: unknown): string {
  if (typeof value !== "string") throw new Error(`a text was expected, not ${JSON.stringify(value)}`);
  return value;
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(text) : [];
}
