import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { RUN_EVENT_TYPES } from "../../src/run/event.ts";
import { changeSchema, emptyProjection, project } from "../../src/store/projection.ts";
import { rowsOf } from "../../src/store/replay.ts";

/** Logs of real runs as earlier versions recorded them, with the rows that they gave then (`scripts/record-runs.ts`). */
const FOLDER = join(import.meta.dirname, "../fixtures/recorded-runs");
const recordSchema = z.object({
  events: z.array(z.object({ seq: z.number(), type: z.string(), change: z.unknown() })),
  rows: z.looseObject({ run: z.looseObject({ run_id: z.string() }) }),
});

const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".json"));

describe("a recorded run", () => {
  it.each(files)("of %s gives the rows that its version read", (path) => {
    const { events, rows } = recordSchema.parse(JSON.parse(readFileSync(join(FOLDER, path), "utf8")));
    expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
    const told = events.flatMap((event) => (event.change === null ? [] : [changeSchema.parse(event.change)]));
    const folded = told.reduce(project, emptyProjection());
    // A later version may know more of a record than this one did, and never less.
    expect(rowsOf(folded, rows.run.run_id)).toMatchObject(rows);
  });

  it.each(files)("of %s has only events that are known by the same name", (path) => {
    const { events } = recordSchema.parse(JSON.parse(readFileSync(join(FOLDER, path), "utf8")));
    const known = new Set<string>(RUN_EVENT_TYPES);
    expect(events.map((event) => event.type).filter((type) => !known.has(type))).toEqual([]);
  });

  it("is there for each way that a run can take", () => {
    expect(files.map((path) => path.split("/").at(-1)?.replace(".json", ""))).toEqual(
      expect.arrayContaining(["done", "ceiling-granted-resumed", "failed-redone", "reset", "escalated-permitted", "reclaimed"]),
    );
  });
});
