/**
 * One fact, said to each who may hear it. An agent calls tools with arguments, a page has buttons and fields, a terminal has
 * commands and flags: a sentence is written once, with places for the names that differ.
 */
export const AUDIENCES = ["agent", "page", "shell"] as const;
export type Audience = (typeof AUDIENCES)[number];
export type Said = Readonly<Record<Audience, string>>;

/** A sentence whose parts may differ by who hears it. */
export function said(texts: TemplateStringsArray, ...parts: readonly (string | number | Said)[]): Said {
  const to = (audience: Audience): string =>
    String.raw({ raw: texts }, ...parts.map((part) => (typeof part === "object" ? part[audience] : part)));
  return { agent: to("agent"), page: to("page"), shell: to("shell") };
}

/** The same words for everybody, or what was said already. */
export function asSaid(text: string | Said): Said {
  return typeof text === "string" ? { agent: text, page: text, shell: text } : text;
}

export function saidList(items: readonly Said[], separator: string): Said {
  const to = (audience: Audience): string => items.map((item) => item[audience]).join(separator);
  return { agent: to("agent"), page: to("page"), shell: to("shell") };
}

/** Only for those who have something to call; `page` where the page has its own words for it. */
export function toCallers(text: Said, page = ""): Said {
  return { ...text, page };
}
