import { parseArgs } from "node:util";
import { agentsOf, logOf, openParts } from "./app.ts";
import { type Config, retentionOf } from "./config.ts";
import { carryOut, type RetentionResult, type RetentionRow } from "./resume/retention.ts";
import { sessionsThrough, sizeLine } from "./resume/run-size.ts";
import { oneLine } from "./resume/shown.ts";
import { bytesText } from "./run/bytes.ts";
import { LoopkeeperError, messageOf, refused } from "./run/errors.ts";
import type { RetentionPolicy } from "./run/retention.ts";

const USAGE =
  "retention takes nothing or --dry-run (shows what the policy would do, and the sizes of all finished runs), --apply (does it now), and --json";
const OFF: RetentionPolicy = { archive_after_days: null, reclaim_after_days: null, max_total_gb: null };

/** `loopkeeper retention`: the policy of the configuration, carried out by hand or only shown. */
export async function runRetentionCommand(config: Config, words: readonly string[]): Promise<number> {
  const { apply, json } = parse(words);
  if (apply && config.inside_run !== null)
    throw refused(
      "inside_a_run",
      `this call comes from inside run ${config.inside_run}; a run may look but not free runs. Tell your owner with report_progress instead.`,
    );
  const policy = retentionOf(config.config_path)?.policy ?? OFF;
  if (apply && policy === OFF)
    throw new LoopkeeperError(
      "bad_input",
      'the retention policy is off, so there is nothing to do. Set "retention" in the file that LOOPKEEPER_CONFIG names: archive_after_days, reclaim_after_days, max_total_gb. One run is freed with `loopkeeper archive RUN --reclaim`.',
    );
  const result = await carry(config, policy, apply);
  process.stdout.write(`${json ? JSON.stringify(jsonOf(policy, apply, result), null, 2) : textOf(policy, apply, result)}\n`);
  return 0;
}

function parse(words: readonly string[]): { readonly apply: boolean; readonly json: boolean } {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: { apply: { type: "boolean" }, "dry-run": { type: "boolean" }, json: { type: "boolean" } },
    });
    if (values.apply === true && values["dry-run"] === true) throw new Error("--apply and --dry-run exclude each other");
    return { apply: values.apply === true, json: values.json === true };
  } catch (error) {
    throw new LoopkeeperError("bad_input", `${messageOf(error)}. ${USAGE}.`);
  }
}

async function carry(config: Config, policy: RetentionPolicy, apply: boolean): Promise<RetentionResult> {
  const log = logOf(config, "retention");
  const parts = await openParts(config, log);
  const ending = new AbortController();
  process.once("SIGINT", () => ending.abort());
  try {
    const { host } = await parts.engines.processIdentity();
    const { store, checkpoints, engines } = parts;
    const sessions = sessionsThrough(engines, (run) => agentsOf(config, config.config_path).resolve(run.agent));
    const ctx = { store, checkpoints, engines, sessions, host, log, caller: { signal: ending.signal } };
    return await carryOut(ctx, { policy, apply, all: true });
  } finally {
    await parts.store.close();
  }
}

function jsonOf(policy: RetentionPolicy, apply: boolean, { rows, total_bytes }: RetentionResult) {
  return {
    policy: policy === OFF ? null : policy,
    applied: apply,
    runs: rows.map(({ run, size, ...row }) => ({
      run_id: run.run_id,
      objective: oneLine(run.objective, 200),
      state: run.state,
      stop_reason: run.stop_reason,
      stopped_at: run.stopped_at,
      archived_at: run.archived_at,
      repository: run.repo_path,
      ...row,
      bytes: size,
    })),
    freed_bytes: freedBytes(rows),
    total_bytes,
  };
}

function textOf(policy: RetentionPolicy, apply: boolean, { rows, total_bytes }: RetentionResult): string {
  return [
    policyLine(policy),
    ...rows.flatMap((row) => rowLines(row, apply)),
    `${apply ? "Freed" : "Would be freed"}: ${bytesText(freedBytes(rows))}. Files of finished runs ${apply ? "now" : "then"}: ${bytesText(total_bytes ?? 0)}.`,
    ...(apply || !rows.some((row) => row.done) ? [] : ["Nothing was changed. loopkeeper retention --apply does it now."]),
  ].join("\n");
}

function policyLine(policy: RetentionPolicy): string {
  if (policy === OFF) return "The retention policy is off: nothing is archived or freed by itself.";
  const { archive_after_days: archive, reclaim_after_days: reclaim, max_total_gb: cap } = policy;
  const parts = [
    ...(archive === null ? [] : [`archived ${archive} days after its stop`]),
    ...(reclaim === null ? [] : [`freed ${reclaim} days after its stop, if all of it exists elsewhere`]),
    ...(cap === null ? [] : [`the oldest freed first while finished runs take more than ${cap} GB`]),
  ];
  return `The retention policy: a run is ${parts.join("; ")}.`;
}

function rowLines(row: RetentionRow, apply: boolean): string[] {
  const { run, what, done, kept, why, size, freed_bytes } = row;
  const verb = what === "archive" ? "archived" : "freed";
  const told =
    what === "nothing"
      ? "stays"
      : done
        ? `${apply ? "was" : "would be"} ${verb}${freed_bytes > 0 ? ` (${bytesText(freed_bytes)})` : ""}`
        : `${apply ? "was" : "would"} not ${apply ? verb : `be ${verb}`}`;
  return [
    `${run.run_id} ${run.state}, ${told}: ${why}. ${JSON.stringify(oneLine(run.objective, 60))}`,
    ...(size === null ? [] : [`  ${sizeLine(size)}`]),
    ...(what === "nothing" ? [] : kept.map((reason) => `  kept: ${reason}`)),
  ];
}

function freedBytes(rows: readonly RetentionRow[]): number {
  return rows.reduce((sum, row) => sum + row.freed_bytes, 0);
}
