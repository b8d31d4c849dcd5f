import { stripVTControlCharacters, styleText } from "node:util";
import stringWidth from "string-width";

/** How wide text is on a terminal, and how it is made to fit. Wide characters take two columns, marks and colours none. */

/** The screen that answers are shown on. */
export interface Screen {
  /** Columns to fit to; null where it is no terminal: nothing is cut or wrapped then. */
  readonly columns: number | null;
  readonly colour: boolean;
}

/** Styles by what they mean. Each leaves the text as it is on a screen without colour. */
export interface Paint {
  readonly strong: (text: string) => string;
  readonly faint: (text: string) => string;
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly accent: (text: string) => string;
}

export function paintFor(colour: boolean): Paint {
  const style = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    // Whether it is a terminal was decided by the door: node's own look would ask this process's stdout.
    colour && text !== "" ? styleText(format, text, { validateStream: false }) : text;
  return {
    strong: style("bold"),
    faint: style("dim"),
    good: style("green"),
    bad: style("red"),
    warn: style("yellow"),
    accent: style("cyan"),
  };
}

export const widthOf = (text: string): number => stringWidth(text);

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** At most `columns` wide, with an ellipsis where something was left out. Takes plain text, no colours. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = "";
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    const next = widthOf(segment);
    if (width + next > columns - 1) break;
    kept += segment;
    width += next;
  }
  return columns < 1 ? "" : `${kept.trimEnd()}…`;
}

/** Text filled with blanks to `columns`; colours in it count nothing. */
export function padTo(text: string, columns: number, align: "left" | "right" = "left"): string {
  const fill = " ".repeat(Math.max(0, columns - widthOf(stripVTControlCharacters(text))));
  return align === "left" ? `${text}${fill}` : `${fill}${text}`;
}

/** Lines of at most `columns`, broken at blanks, and inside a word only where it is longer than a line. */
export function wrap(text: string, columns: number | null): readonly string[] {
  if (columns === null) return text.split("\n");
  return text.split("\n").flatMap((line) => (widthOf(line) <= columns ? [line] : wrapLine(line, Math.max(1, columns))));
}

function wrapLine(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/(?<=\s)/u)) {
    if (widthOf(line) + widthOf(word.trimEnd()) <= columns) {
      line += word;
      continue;
    }
    if (line.trimEnd() !== "") lines.push(line.trimEnd());
    line = word;
    while (widthOf(line.trimEnd()) > columns) {
      const head = headOf(line, columns);
      lines.push(head);
      line = line.slice(head.length);
    }
  }
  if (line.trimEnd() !== "" || lines.length === 0) lines.push(line.trimEnd());
  return lines;
}

/** As many whole characters as fit, one at least. */
function headOf(text: string, columns: number): string {
  let head = "";
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += widthOf(segment);
    if (head !== "" && width > columns) break;
    head += segment;
  }
  return head;
}

/** A paragraph whose first line begins with `first`, every other one with as many blanks. `first` may hold colours. */
export function hanging(first: string, text: string, screen: Screen): readonly string[] {
  const indent = widthOf(stripVTControlCharacters(first));
  const lines = wrap(text, screen.columns === null ? null : Math.max(12, screen.columns - indent));
  return lines.map((line, index) => `${index === 0 ? first : " ".repeat(indent)}${line}`);
}
