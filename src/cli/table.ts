import { cutTo, padTo, widthOf } from "./layout.ts";

export interface Column {
  readonly title: string;
  /** Narrowest that it may be cut to; null: never cut. */
  readonly least: number | null;
  readonly align?: "left" | "right";
  /** Columns are left out from the highest number on when there is no room for all; null: never left out. */
  readonly drop: number | null;
}

export interface Cell {
  readonly text: string;
  readonly style?: (text: string) => string;
}

const GAP = 2;

/** Rows under titles, fitted to `columns` (null: as wide as they are). Cells are plain text; their style is put on after the cut. */
export function table(
  all: readonly Column[],
  rows: readonly (readonly Cell[])[],
  columns: number | null,
  title: (text: string) => string,
): readonly string[] {
  const natural = all.map((column, index) =>
    Math.max(widthOf(column.title), ...rows.map((row) => widthOf(row[index]?.text ?? ""))),
  );
  const kept = columns === null ? all.map((_, index) => index) : keptColumns(all, natural, columns);
  const widths = columns === null ? natural : fitted(all, natural, kept, columns);
  const line = (cells: readonly Cell[]): string =>
    kept
      .map((index, place) => {
        const { text, style } = cells[index] ?? { text: "" };
        const width = widths[index] ?? 0;
        const cut = cutTo(text, width);
        const styled = style === undefined ? cut : style(cut);
        // The last cell is not filled: blanks at a line's end wrap on a narrow screen.
        return place === kept.length - 1 && all[index]?.align !== "right" ? styled : padTo(styled, width, all[index]?.align);
      })
      .join(" ".repeat(GAP))
      .trimEnd();
  return [line(all.map((column) => ({ text: column.title, style: title }))), ...rows.map(line)];
}

function keptColumns(all: readonly Column[], natural: readonly number[], columns: number): readonly number[] {
  const kept = all.map((_, index) => index);
  const least = (index: number): number => Math.min(natural[index] ?? 0, all[index]?.least ?? Number.POSITIVE_INFINITY);
  const room = (): number => kept.reduce((sum, index) => sum + least(index), GAP * (kept.length - 1));
  while (room() > columns) {
    const droppable = kept.filter((index) => all[index]?.drop !== null);
    const worst = droppable.toSorted((a, b) => (all[b]?.drop ?? 0) - (all[a]?.drop ?? 0))[0];
    if (worst === undefined) break;
    kept.splice(kept.indexOf(worst), 1);
  }
  return kept;
}

/** Takes what is too much from the widest cuttable columns first, one column of the screen at a time. */
function fitted(all: readonly Column[], natural: readonly number[], kept: readonly number[], columns: number): readonly number[] {
  const widths = [...natural];
  const total = (): number => kept.reduce((sum, index) => sum + (widths[index] ?? 0), GAP * (kept.length - 1));
  while (total() > columns) {
    const cuttable = kept.filter((index) => (widths[index] ?? 0) > (all[index]?.least ?? Number.POSITIVE_INFINITY));
    const widest = cuttable.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0];
    if (widest === undefined) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}
