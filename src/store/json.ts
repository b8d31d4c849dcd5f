import { z } from "zod";
import { LoopkeeperError } from "../run/errors.ts";

/** A column that holds JSON text of the given shape. */
export function jsonColumn<S extends z.ZodType>(schema: S) {
  return z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue({ code: "custom", message: "not JSON" });
        return z.NEVER;
      }
    })
    .pipe(schema);
}

/** A record out of a row; a row that does not fit its schema is damage, and the error names the table and the columns. */
export function readRow<S extends z.ZodType>(schema: S, table: string, row: unknown): z.output<S> {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const columns = [...new Set(parsed.error.issues.map((issue) => String(issue.path[0] ?? "?")))].join(", ");
  throw new LoopkeeperError(
    "store_unavailable",
    `A row of table \`${table}\` in the store is damaged (columns: ${columns}). Other records are not affected; restore this one from a copy of the store.`,
  );
}

export function readRows<S extends z.ZodType>(schema: S, table: string, rows: readonly unknown[]): z.output<S>[] {
  return rows.map((row) => readRow(schema, table, row));
}

export function jsonOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

/** Free text as both databases can hold it: a NUL character ends the text in one and is refused by the other. */
export function plain<T extends string | null | undefined>(text: T): T;
export function plain(text: string | null | undefined): string | null | undefined {
  return text?.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text;
}
