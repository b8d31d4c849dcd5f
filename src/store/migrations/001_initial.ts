import { type QueryExecutorProvider, type RawBuilder, sql } from "kysely";
import type { ColumnTypes } from "./column-types.ts";

export const name = "001_initial";

/** Never edited once released: a store made by it must be told apart from one made by a later migration. */
export async function up(db: QueryExecutorProvider, types: ColumnTypes): Promise<void> {
  for (const statement of statements(types)) await statement.execute(db);
}

function statements({ text, int, real, bytes, table, chunkTable, headTable }: ColumnTypes): RawBuilder<unknown>[] {
  return [
    sql`create table meta (key ${text} primary key, value ${text} not null)${table}`,
    sql`create table counters (name ${text} primary key, value ${int} not null)${table}`,
    sql`insert into counters (name, value) values ('position', 0)`,

    sql`create table runs (
      run_id ${text} primary key, owner ${text} not null, objective ${text} not null,
      repo_path ${text} not null, repo_common_dir ${text} not null, repo_remote ${text},
      root_commit ${text}, base_commit ${text}, branch ${text},
      workspace_kind ${text} not null, workspace_path ${text} not null,
      agent ${text} not null, model ${text}, mode ${text}, settings ${text} not null,
      state ${text} not null, stop_reason ${text}, stop ${text}, stop_request ${text},
      iteration ${int} not null, first_cap ${int} not null, max_iterations ${int} not null,
      usage ${text} not null, plan ${text} not null, report ${text}, last_words ${text}, resume_note ${text},
      predecessor_run_id ${text}, was_reset ${text}, revision ${int} not null,
      created_at ${text} not null, started_at ${text}, waiting_until ${text}, stopped_at ${text},
      archived_at ${text}, reclaimed_at ${text}, changed_at ${text} not null,
      position ${int} not null, list_class ${text} not null
    )${table}`,
    sql`create index runs_by_class on runs (owner, list_class, position)`,
    sql`create index runs_by_directory on runs (owner, repo_common_dir, list_class, position)`,
    sql`create index runs_by_remote on runs (owner, repo_remote, list_class, position)`,
    sql`create index runs_by_change on runs (owner, changed_at, position)`,
    sql`create index runs_by_directory_start on runs (owner, repo_common_dir, created_at)`,
    sql`create index runs_by_remote_start on runs (owner, repo_remote, created_at)`,
    sql`create index runs_live on runs (position) where state in ('queued', 'running', 'stopping')`,
    sql`create index runs_waiting on runs (position) where waiting_until is not null`,

    sql`create table run_heads (
      run_id ${text} primary key references runs (run_id), fence ${int} not null, event_seq ${int} not null,
      journal_n ${int} not null, alive_at ${text}, progress_at ${text}
    )${headTable}`,
    sql`create table run_counts (
      owner ${text} not null, list_class ${text} not null, repo_common_dir ${text} not null, repo_remote ${text} not null,
      runs ${int} not null, primary key (owner, list_class, repo_common_dir, repo_remote)
    )${table}`,
    sql`create table run_moves (
      position ${int} primary key, run_id ${text} not null references runs (run_id), from_position ${int} not null, at ${text} not null
    )${table}`,

    sql`create table steps (
      run_id ${text} not null references runs (run_id), step ${text} not null, position ${int} not null, title ${text},
      objective ${text} not null, needs ${text} not null, max_iterations ${int}, verify ${text} not null,
      state ${text} not null, attempt ${int} not null, iteration ${int} not null, primary key (run_id, step)
    )${table}`,
    sql`create table attempts (
      run_id ${text} not null references runs (run_id), step ${text} not null, attempt ${int} not null, started_from ${text} not null,
      opened_at ${text} not null, ended_at ${text}, ended_by ${text}, opened_at_iteration ${int} not null, entry_checkpoint ${text},
      engine_session ${text}, context ${text} not null, why_handoff ${text}, note ${text}, restore ${text} not null,
      primary key (run_id, step, attempt)
    )${table}`,
    sql`create table iterations (
      run_id ${text} not null references runs (run_id), ordinal ${int} not null, number ${int} not null, step ${text} not null,
      attempt ${int} not null, started_at ${text} not null, ended_at ${text}, outcome ${text}, finished ${int} not null,
      checkpoint_start ${text}, checkpoint_end ${text}, progress_key ${text}, input_tokens ${int} not null,
      output_tokens ${int} not null, cost_usd ${real}, summary ${text}, primary key (run_id, ordinal)
    )${table}`,
    sql`create table acts (
      run_id ${text} not null references runs (run_id), n ${int} not null, kind ${text} not null, what ${text} not null, ref ${text},
      iteration ${int} not null, at ${text} not null, status ${text} not null, primary key (run_id, n)
    )${table}`,
    sql`create table grants (
      run_id ${text} not null references runs (run_id), n ${int} not null, iterations ${int} not null, at ${text} not null,
      primary key (run_id, n)
    )${table}`,
    sql`create table checkpoints (
      run_id ${text} not null references runs (run_id), id ${text} not null, n ${int} not null, kind ${text} not null,
      iteration ${int} not null, step ${text}, attempt ${int}, at ${text} not null, ${sql.ref("commit")} ${text}, tree ${text},
      index_tree ${text}, head ${text}, branch ${text}, files ${int} not null, bytes ${int} not null, skipped ${text} not null,
      state ${text} not null, failure ${text}, primary key (run_id, id)
    )${table}`,
    sql`create unique index checkpoints_in_order on checkpoints (run_id, n)`,
    sql`create table verify_results (
      run_id ${text} not null references runs (run_id), step ${text} not null, command_hash ${text} not null, n ${int} not null,
      command ${text} not null, exit_code ${int}, iteration ${int} not null, at ${text} not null, tail ${text} not null,
      primary key (run_id, step, command_hash)
    )${table}`,
    sql`create table instructions (
      run_id ${text} not null references runs (run_id), id ${text} not null, n ${int} not null, kind ${text} not null,
      text ${text} not null, at ${text} not null, delivered_at ${text}, delivered_iteration ${int}, primary key (run_id, id)
    )${table}`,

    // Without a foreign key on purpose: checking it would lock the run's row at each append. Rows enter only beside the run's own.
    sql`create table events (
      run_id ${text} not null, seq ${int} not null, type ${text} not null, at ${text} not null, data ${text} not null,
      primary key (run_id, seq)
    )${table}`,
    sql`create table journal_chunks (
      run_id ${text} not null, first_n ${int} not null, last_n ${int} not null, first_iteration ${int} not null,
      last_iteration ${int} not null, raw_bytes ${int} not null, at ${text} not null, codec ${text} not null,
      checksum ${text} not null, body ${bytes} not null
    )${chunkTable}`,
    // Holds all that choosing chunks needs, so that a page is planned without reading a body.
    sql`create unique index journal_chunks_in_order
      on journal_chunks (run_id, first_n, last_n, first_iteration, last_iteration, raw_bytes)`,

    sql`create table artifacts (
      id ${text} primary key, codec ${text} not null, raw_bytes ${int} not null, body ${bytes} not null, unused_since ${text}
    )${table}`,
    sql`create index artifacts_unused on artifacts (unused_since) where unused_since is not null`,
    sql`create table run_artifact_lists (
      run_id ${text} not null references runs (run_id), name ${text} not null, meta ${text} not null, primary key (run_id, name)
    )${table}`,
    sql`create table run_artifacts (
      run_id ${text} not null references runs (run_id), name ${text} not null, position ${int} not null,
      artifact_id ${text} not null references artifacts (id), primary key (run_id, name, position)
    )${table}`,
    sql`create index run_artifacts_by_artifact on run_artifacts (artifact_id)`,

    sql`create table requests (
      owner ${text} not null, request_id ${text} not null, tool ${text} not null, args_hash ${text} not null,
      run_id ${text} not null references runs (run_id), answer ${text} not null, at ${text} not null, primary key (owner, request_id)
    )${table}`,
    sql`create index requests_by_age on requests (at)`,
    sql`create table leases (
      run_id ${text} primary key references runs (run_id), fence ${int} not null, worker_id ${text} not null,
      identity ${text} not null, beat ${int} not null
    )${table}`,
    sql`create table workers (
      worker_id ${text} primary key, identity ${text} not null, version ${text} not null, started_at ${text} not null,
      beat_at ${text} not null
    )${table}`,
    sql`create table tree_holds (tree_path ${text} primary key, run_id ${text} not null unique references runs (run_id))${table}`,
  ];
}
