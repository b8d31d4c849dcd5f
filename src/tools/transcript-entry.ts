import { z } from "zod";
import { partOf } from "../run/entry-part.ts";
import type { JournalEntry } from "../run/event.ts";

/** What an entry of the journal says, as text to read. */

const factsSchema = z.looseObject({
  title: z.string().optional().catch(undefined),
  status: z.string().optional().catch(undefined),
  command: z.string().nullish().catch(undefined),
  bytes: z.number().optional().catch(undefined),
});

export function textOfEntry(entry: JournalEntry): { readonly text: string; readonly about: string | null } {
  const { part: _, ...facts } = entry.data ?? {};
  const part = partOf(entry);
  if (part !== null) {
    const place = `part ${part.number} of ${part.of} of one text of ${part.characters} characters`;
    const what = part.number === 1 && entry.kind === "tool_result" ? `${resultOf(facts)}; ` : "";
    return { text: entry.text.slice(part.overlap), about: `${what}${place}` };
  }
  switch (entry.kind) {
    case "tool_result":
      return { text: entry.text, about: resultOf(facts) };
    case "tool_call":
      return { text: callText(entry.text, facts), about: null };
    case "report":
    case "permission":
    case "engine":
    case "usage":
      return { text: withFacts(entry.text, facts), about: null };
    case "prompt":
    case "message":
    case "thought":
    case "plan":
    case "verify":
    case "gap":
      return { text: entry.text, about: null };
  }
}

function resultOf(facts: Readonly<Record<string, unknown>>): string {
  const { title, status, bytes } = factsSchema.parse(facts);
  const size = bytes === undefined ? "" : `, ${bytes} bytes printed`;
  return `output of ${oneLine(title ?? "a tool call")} (${status ?? "end not seen"}${size})`;
}

function callText(title: string, facts: Readonly<Record<string, unknown>>): string {
  const { command } = factsSchema.parse(facts);
  if (typeof command === "string") return command === title ? title : `${title}\n$ ${command}`;
  const input = facts["raw_input"];
  return input === undefined || input === null ? title : `${title}\n${JSON.stringify(input)}`;
}

function withFacts(text: string, facts: Readonly<Record<string, unknown>>): string {
  if (Object.keys(facts).length === 0) return text;
  return `${text}${text === "" ? "" : "\n"}${JSON.stringify(facts)}`;
}

function oneLine(text: string): string {
  const flat = text.replaceAll(/\s+/gu, " ").trim();
  return flat.length <= 120 ? flat : `${flat.slice(0, 119)}…`;
}
