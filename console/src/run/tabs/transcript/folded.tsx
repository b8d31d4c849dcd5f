import { useState } from "react";
import type { EntryText } from "../../../../../src/tools/view-entry.ts";
import { read } from "../../../api/client.ts";
import { address } from "../data.ts";
import { count } from "../format.ts";

/** What a reader opened stays open when its entry leaves the sight and comes back. */
const opened = new Set<string>();

export function useOpen(key: string): [boolean, () => void] {
  const [open, setOpen] = useState(opened.has(key));
  const toggle = (): void => {
    if (open) opened.delete(key);
    else opened.add(key);
    setOpen(!open);
  };
  return [open, toggle];
}

/** A text with what was searched for marked in it. */
export function Marked({ text, needle }: { readonly text: string; readonly needle: string }) {
  if (needle === "") return text;
  const lower = text.toLowerCase();
  const wanted = needle.toLowerCase();
  const parts: { readonly text: string; readonly at: number; readonly hit: boolean }[] = [];
  let from = 0;
  for (let hit = lower.indexOf(wanted); hit >= 0 && parts.length < 400; hit = lower.indexOf(wanted, from)) {
    parts.push(
      { text: text.slice(from, hit), at: from, hit: false },
      { text: text.slice(hit, hit + wanted.length), at: hit, hit: true },
    );
    from = hit + wanted.length;
  }
  parts.push({ text: text.slice(from), at: from, hit: false });
  return parts.map((part) =>
    part.hit ? (
      <mark key={`hit-${part.at}`} className="rounded-sm bg-needs/25 text-ink outline outline-needs/50">
        {part.text}
      </mark>
    ) : (
      <span key={part.at}>{part.text}</span>
    ),
  );
}

/** The rest of a long text, piece by piece. */
export function useReadOn(runId: string, n: number, shown: string, characters: number) {
  const [more, setMore] = useState<{ readonly text: string; readonly next: EntryText["next"] }>({
    text: "",
    next: shown.length < characters ? { n, offset: shown.length } : null,
  });
  const [state, setState] = useState<"idle" | "reading" | "failed">("idle");
  const readOn = async (): Promise<void> => {
    if (more.next === null || state === "reading") return;
    setState("reading");
    try {
      const part = await read<EntryText>(address(runId, "entry", more.next));
      setMore({ text: more.text + part.text, next: part.next });
      setState("idle");
    } catch {
      setState("failed");
    }
  };
  const left = characters - shown.length - more.text.length;
  const label =
    state === "reading"
      ? "Reading…"
      : `${state === "failed" ? "Not read; try again" : "Read on"} (${count(Math.max(1, left))} characters left)`;
  return { text: shown + more.text, left: more.next !== null, label, readOn: () => void readOn() };
}
