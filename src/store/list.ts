import { type Expression, type ExpressionBuilder, sql } from "kysely";
import { epochMs } from "../run/clock.ts";
import { groupOf, type RunGroup } from "../run/group.ts";
import type { RunState } from "../run/run.ts";
import type { Backend, Trx } from "./backend.ts";
import { type Cursor, decodeCursor, encodeCursor } from "./cursor.ts";
import { classMatches, type ListClass, parseListClass } from "./list-class.ts";
import { selectRuns, toReadableRuns } from "./read-run.ts";
import type { Tables } from "./schema.ts";
import type { RunFilter, RunPage } from "./store.ts";

interface Place {
  readonly run_id: string;
  readonly position: number;
}

/**
 * One page, newest change first. The cursor fixes the order of changes at the first page: a run that changes while a caller pages
 * moves to the top for new lists, and keeps its place in this one. So no run is met twice and none is missed.
 */
export async function listRuns(backend: Backend, filter: RunFilter, onError: (error: unknown) => void): Promise<RunPage> {
  return backend.read(async (trx) => {
    const classes = await matchingClasses(trx, filter);
    const cursor = filter.cursor === undefined ? await firstPage(trx) : decodeCursor(filter.cursor);
    const places = await placesOf(trx, filter, [...classes.keys()], cursor);
    const page = places.slice(0, filter.limit);
    const last = page.at(-1);
    const next = places.length > page.length && last !== undefined ? { ...cursor, below: last.position } : null;
    return {
      runs: toReadableRuns(await rowsOf(trx, page), onError),
      ...totals([...classes.values()]),
      next_cursor: next === null ? null : encodeCursor(next),
    };
  });
}

interface ClassCount {
  readonly list: ListClass;
  readonly runs: number;
}

/** The classes that the filter lets through, each with how many of the owner's runs (of this repository, since then) are in it. */
async function matchingClasses(trx: Trx, filter: RunFilter): Promise<ReadonlyMap<string, ClassCount>> {
  const counts =
    filter.changed_since === undefined && filter.search === undefined
      ? await allCounts(trx, filter)
      : await countedRows(trx, filter);
  const classes = new Map<string, ClassCount>();
  for (const { list_class, runs } of counts) {
    const list = parseListClass(list_class);
    if (list !== null && runs > 0 && classMatches(list, filter)) classes.set(list_class, { list, runs });
  }
  return classes;
}

async function allCounts(trx: Trx, filter: RunFilter): Promise<{ list_class: string; runs: number }[]> {
  return trx
    .selectFrom("run_counts")
    .select((of) => ["list_class", of.cast<number>(of.fn.sum("runs"), "integer").as("runs")])
    .where("owner", "=", filter.owner)
    .where((of) => inRepository(of, filter))
    .groupBy("list_class")
    .execute();
}

async function countedRows(trx: Trx, filter: RunFilter): Promise<{ list_class: string; runs: number }[]> {
  return trx
    .selectFrom("runs")
    .select((of) => ["list_class", of.cast<number>(of.fn.countAll(), "integer").as("runs")])
    .where("owner", "=", filter.owner)
    .where("changed_at", ">=", filter.changed_since ?? "")
    .where((of) => inRepository(of, filter))
    .where(found(filter))
    .groupBy("list_class")
    .execute();
}

function found({ search }: RunFilter): Expression<boolean> {
  if (search === undefined) return sql<boolean>`1 = 1`;
  const text = search.replaceAll(/[\\%_]/gu, "\\$&");
  const id = text.toLowerCase().replace(/^run\\_/u, "");
  return sql<boolean>`(lower(objective) like lower(${`%${text}%`}) escape '\\' or runs.run_id like ${`run\\_${id}%`} escape '\\')`;
}

/** Git directory or remote: either is enough to be the same repository. */
function inRepository(of: ExpressionBuilder<Tables, "runs"> | ExpressionBuilder<Tables, "run_counts">, filter: RunFilter) {
  const any: Expression<boolean>[] = [];
  const directory = sql.ref<string>("repo_common_dir");
  const remote = sql.ref<string>("repo_remote");
  if (filter.common_dir !== undefined) any.push(sql<boolean>`${directory} = ${filter.common_dir}`);
  if (filter.remote !== undefined) any.push(sql<boolean>`${remote} = ${filter.remote}`);
  return any.length === 0 ? sql<boolean>`1 = 1` : of.or(any);
}

function totals(classes: readonly ClassCount[]): Pick<RunPage, "total" | "by_state" | "by_group"> {
  const by_state: Record<RunState, number> = { queued: 0, running: 0, stopping: 0, stopped: 0, done: 0 };
  const by_group: Record<RunGroup, number> = { needs_you: 0, running: 0, waiting: 0, finished: 0 };
  let total = 0;
  for (const { list, runs } of classes) {
    by_state[list.state] += runs;
    by_group[groupOf(list)] += runs;
    total += runs;
  }
  return { total, by_state, by_group };
}

async function firstPage(trx: Trx): Promise<Cursor> {
  const { value } = await trx.selectFrom("counters").select("value").where("name", "=", "position").executeTakeFirstOrThrow();
  return { snapshot: value, below: value + 1, begun: epochMs() };
}

/** The page's runs and one more: those still at their place, and those that moved since the snapshot, at their place in it. */
async function placesOf(trx: Trx, filter: RunFilter, classes: readonly string[], cursor: Cursor): Promise<readonly Place[]> {
  const floor = await floorOf(trx, filter);
  const unmoved = await newestOfClasses(trx, filter, classes, cursor, floor);
  // On the first page the snapshot is this moment: nothing can have moved since.
  const moved = filter.cursor === undefined ? [] : await movedSince(trx, filter, classes, cursor);
  const all = new Map([...unmoved, ...moved].map((place) => [place.run_id, place]));
  return [...all.values()].sort((a, b) => b.position - a.position).slice(0, filter.limit + 1);
}

/** The lowest place of a run that changed since the given instant: keeps the search from walking through all older ones. */
async function floorOf(trx: Trx, { owner, changed_since }: RunFilter): Promise<number> {
  if (changed_since === undefined) return 0;
  const row = await trx
    .selectFrom("runs")
    .select((of) => of.fn.min<number | null>("position").as("position"))
    .where("owner", "=", owner)
    .where("changed_at", ">=", changed_since)
    .executeTakeFirst();
  return row?.position ?? Number.MAX_SAFE_INTEGER;
}

/** The newest of each class by its index, merged: no class has to be walked to its end. */
async function newestOfClasses(
  trx: Trx,
  filter: RunFilter,
  classes: readonly string[],
  { below }: Cursor,
  floor: number,
): Promise<readonly Place[]> {
  const columns = repositoryColumns(filter);
  const parts = classes.flatMap((list_class) => columns.map((column) => newest(list_class, column)));
  const [first, ...rest] = parts;
  if (first === undefined) return [];
  return rest
    .reduce((all, part) => all.unionAll(part), first)
    .orderBy("position", "desc")
    .limit((filter.limit + 1) * columns.length)
    .execute();

  function newest(list_class: string, [column, value]: RepositoryColumn) {
    let part = trx
      .selectFrom("runs")
      .select(["run_id", "position"])
      .where("owner", "=", filter.owner)
      .where("list_class", "=", list_class)
      .where("position", "<", below)
      .where("position", ">=", floor)
      .where(found(filter))
      .orderBy("position", "desc")
      .limit(filter.limit + 1);
    if (column !== null) part = part.where(column, "=", value);
    if (filter.changed_since !== undefined) part = part.where("changed_at", ">=", filter.changed_since);
    return trx.selectFrom(part.as("part")).select(["part.run_id", "part.position"]);
  }
}

type RepositoryColumn = readonly ["repo_common_dir" | "repo_remote" | null, string];

function repositoryColumns({ common_dir, remote }: RunFilter): readonly RepositoryColumn[] {
  const columns: RepositoryColumn[] = [];
  if (common_dir !== undefined) columns.push(["repo_common_dir", common_dir]);
  if (remote !== undefined) columns.push(["repo_remote", remote]);
  return columns.length === 0 ? [[null, ""]] : columns;
}

async function movedSince(
  trx: Trx,
  filter: RunFilter,
  classes: readonly string[],
  { snapshot, below }: Cursor,
): Promise<readonly Place[]> {
  if (classes.length === 0) return [];
  let moves = trx
    .selectFrom("run_moves")
    .innerJoin("runs", "runs.run_id", "run_moves.run_id")
    .select(["runs.run_id", "run_moves.from_position as position"])
    .where("run_moves.position", ">", snapshot)
    // The first move after the snapshot is the one that began at or below it; a new run's begins at 0.
    .where("run_moves.from_position", "<=", snapshot)
    .where("run_moves.from_position", "<", below)
    .where("run_moves.from_position", ">", 0)
    .where("owner", "=", filter.owner)
    .where("list_class", "in", [...classes])
    .where((of) => inRepository(of, filter))
    .where(found(filter));
  if (filter.changed_since !== undefined) moves = moves.where("changed_at", ">=", filter.changed_since);
  return moves
    .orderBy("run_moves.from_position", "desc")
    .limit(filter.limit + 1)
    .execute();
}

async function rowsOf(trx: Trx, page: readonly Place[]): Promise<readonly unknown[]> {
  if (page.length === 0) return [];
  const ids = page.map((place) => place.run_id);
  const rows = await selectRuns(trx).where("runs.run_id", "in", ids).execute();
  return rows.sort((a, b) => ids.indexOf(a.run_id) - ids.indexOf(b.run_id));
}
