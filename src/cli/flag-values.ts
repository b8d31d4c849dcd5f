import { readFileSync } from "node:fs";
import { LoopkeeperError, systemCode } from "../run/errors.ts";

/** How the text of a flag becomes the value of an argument. */
export type FlagKind = "text" | "number" | "switch" | "list" | "json";

interface Typed {
  readonly name: string;
  readonly kind: FlagKind;
}

export function toArgument(flag: Typed, value: string | boolean | readonly (string | boolean)[]): unknown {
  if (typeof value !== "string") return value;
  if (flag.kind === "list") return [value];
  if (flag.kind === "number") return numberOf(flag, value);
  if (flag.kind === "json") return structureOf(flag, value);
  return value;
}

function numberOf(flag: Typed, text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new LoopkeeperError("bad_input", `--${flag.name} takes a number, not "${text}".`);
}

/** JSON, a file of it (`@steps.json`), or pairs for what is an object of plain values (`cost_usd=5,minutes=90`). */
function structureOf(flag: Typed, text: string): unknown {
  if (text.startsWith("@")) return jsonOf(flag, fileText(flag, text.slice(1)));
  const pairs = text.split(",").map((pair) => /^\s*([a-z_]+)\s*=\s*(\S.*?)\s*$/u.exec(pair));
  if (pairs.every((pair) => pair !== null))
    return Object.fromEntries(pairs.map(([, name = "", value = ""]) => [name, plain(value)]));
  return jsonOf(flag, text);
}

function plain(text: string): unknown {
  if (text === "true" || text === "false") return text === "true";
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

function jsonOf(flag: Typed, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new LoopkeeperError(
      "bad_input",
      `--${flag.name} takes JSON, @FILE with JSON, or name=value pairs, and this is none: ${text.slice(0, 200)}`,
    );
  }
}

function fileText(flag: Typed, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new LoopkeeperError(
      "bad_input",
      `--${flag.name} names the file ${path}, which cannot be read (${systemCode(error) ?? "unknown"}).`,
    );
  }
}
