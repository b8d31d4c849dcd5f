import { z } from "zod";
import { now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { shortId } from "../run/id.ts";
import type { Caller } from "../tools/context.ts";
import type { Tool } from "../tools/define-tool.ts";
import type { CallTool } from "../tools/runtime.ts";
import { age } from "./ages.ts";

const FULL_ID = /^run_[0-9a-z]{20}$/;
/** `@last` and `@1`: the newest run; `@2`: the one started before it. */
const BY_AGE = /^@(last|[1-9]\d{0,2})$/;

const rowSchema = z.looseObject({
  run_id: z.string(),
  objective: z.string().default(""),
  state: z.string().default(""),
  created_at: z.string().default(""),
  changed_at: z.string().default(""),
});
type Row = z.infer<typeof rowSchema>;
const pageSchema = z.looseObject({ runs: z.array(rowSchema), next_cursor: z.string().nullable() });

/** What a run is looked up with. */
export interface Finder {
  readonly list: Tool | undefined;
  readonly call: CallTool;
  readonly caller: Caller;
  /** The folder the person stands in. */
  readonly cwd: string;
}

/**
 * The id of the one run that `name` means: a full id (not looked up), a beginning of one with or without `run_`, or its place by
 * age. `run_not_found` when there is none, `bad_input` with the candidates when several begin so.
 */
export async function findRunId(name: string, finder: Finder): Promise<string> {
  if (FULL_ID.test(name) || finder.list === undefined) return name;
  const byAge = BY_AGE.exec(name)?.[1];
  if (byAge !== undefined) return newest(byAge === "last" ? 1 : Number(byAge), finder);
  if (name.startsWith("@")) throw new LoopkeeperError("bad_input", `"${name}" is no run: it is @last, @1 (the same), @2...`);
  const wanted = name.startsWith("run_") ? name : `run_${name}`;
  const found = new Map<string, Row>();
  for (const archived of [false, true]) {
    for await (const row of rows(finder, { archived })) if (row.run_id.startsWith(wanted)) found.set(row.run_id, row);
  }
  const [only, ...more] = found.values();
  if (only === undefined) {
    throw new LoopkeeperError("run_not_found", `no run's id begins with "${name}". loopkeeper list shows the runs there are.`);
  }
  if (more.length === 0) return only.run_id;
  const shown = [only, ...more].slice(0, 8).map(candidate);
  throw new LoopkeeperError("bad_input", `"${name}" begins the ids of ${found.size} runs; give more of it:\n${shown.join("\n")}`);
}

function candidate(row: Row): string {
  const when = row.created_at === "" ? "" : ` ${age(row.created_at, now())} old`;
  return `  ${row.run_id}${when} ${row.state} ${row.objective}`.trimEnd();
}

/** The run that was started last in this repository, or anywhere when the folder is in none or nothing ran in it. */
async function newest(place: number, finder: Finder): Promise<string> {
  const here = await byCreation(place, finder, { repo: finder.cwd }).catch((error: unknown) => {
    if (error instanceof LoopkeeperError && error.code === "repository_problem") return [];
    throw error;
  });
  const found = here.length > 0 ? here : await byCreation(place, finder, {});
  const row = found[place - 1];
  if (row !== undefined) return row.run_id;
  throw new LoopkeeperError(
    "run_not_found",
    found.length === 0
      ? `there is no run yet. Start one with: loopkeeper start "what it is to reach"`
      : `there are only ${found.length} runs ${here.length > 0 ? "of this repository" : ""}. loopkeeper list shows them.`,
  );
}

/** The newest runs by creation, as many as wanted. Rows come by their newest change, which is never before their creation. */
async function byCreation(wanted: number, finder: Finder, filter: object): Promise<readonly Row[]> {
  let best: Row[] = [];
  for await (const row of rows(finder, filter)) {
    const last = best[wanted - 1];
    if (last !== undefined && row.changed_at < last.created_at) break;
    best = [...best, row].toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1)).slice(0, wanted);
  }
  return best;
}

async function* rows({ list, call, caller }: Finder, filter: object): AsyncGenerator<Row> {
  let cursor: string | null = null;
  do {
    if (list === undefined) return;
    const result = await call(list, { ...filter, limit: 50, ...(cursor === null ? {} : { cursor }) }, caller);
    if (!result.ok) throw new LoopkeeperError(result.code, result.text.replace(/^\w+: /, ""));
    const page = pageSchema.parse(result.structured);
    yield* page.runs;
    cursor = page.next_cursor;
  } while (cursor !== null);
}

/** Beginnings of ids to complete, newest change first, each with what it is about. */
export async function knownRuns(finder: Finder): Promise<readonly { readonly id: string; readonly about: string }[]> {
  const found: { id: string; about: string }[] = [];
  for await (const row of rows(finder, {})) {
    found.push({ id: shortId(row.run_id), about: `${row.state} ${row.objective}` });
    if (found.length === 50) break;
  }
  return found;
}
