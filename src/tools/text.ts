import { oneLine, quoted } from "../resume/shown.ts";
import { msOf } from "../run/clock.ts";
import type { Common } from "./present.ts";

/** Pieces of the text half of answers. Each text is complete by itself: some clients show nothing else. */

interface Renderable {
  readonly summary: string;
  readonly run?: Common["run"] | undefined;
  readonly replayed?: Common["replayed"] | undefined;
  readonly next_actions?: Common["next_actions"] | undefined;
}

/** Summary, the run in a few lines, the tool's own lines, and what to call next. */
export function renderAnswer(answer: Renderable, own: readonly (string | null)[] = [], first: string | null = null): string {
  const lines = [
    first,
    answer.summary,
    ...(answer.run === undefined ? [] : runLines(answer.run)),
    ...own,
    ...nextLines(answer.next_actions ?? []),
  ];
  return lines.filter((line) => line !== null && line !== "").join("\n");
}

function runLines(run: Common["run"]): string[] {
  const lines = [
    `run_id: ${run.run_id}  state: ${run.state}  stop_reason: ${run.stop_reason ?? "none"}  resumable: ${run.resumable}  revision: ${run.revision}`,
    `objective: ${oneLine(run.objective, 200)}`,
    `repository: ${run.repository.path}  branch: ${run.repository.branch ?? "none"}  workspace (${run.workspace.kind}): ${run.workspace.path}`,
    `agent: ${run.agent.name}${run.agent.model === null ? "" : ` (${run.agent.model})`}  permissions: ${run.permissions}  iteration: ${run.iteration}/${run.max_iterations}`,
  ];
  const { usage } = run;
  lines.push(
    `usage: ${usage.input_tokens} tokens in, ${usage.output_tokens} out, ${usage.cost_usd === null ? "cost unknown" : `${usage.cost_usd.toFixed(4)} USD`}, ${usage.minutes} min${run.budget === null ? "" : `  budget: ${JSON.stringify(run.budget)}`}${run.auto_resume === null ? "" : `  auto_resume: ${run.auto_resume.used} of ${run.auto_resume.times} used, for ${run.auto_resume.reasons.join(", ")}`}`,
    `created: ${run.created_at}  started: ${run.started_at ?? "not yet"}  last sign of life: ${run.alive_at ?? "none"}  last progress: ${run.progress_at ?? "none"}  now: ${run.now}`,
    `read more at: ${run.uris.report.replace(/report$/u, "")}{report,transcript,diff,plan,note}`,
  );
  if (run.archived_at !== null) lines.push(`archived at: ${run.archived_at}`);
  if (run.reclaimed_at !== null) lines.push(`reclaimed at: ${run.reclaimed_at}`);
  if (run.steps.length > 1)
    lines.push(
      `steps: ${run.steps.map((step) => `${step.step} ${step.state} (attempt ${step.attempt}, ${step.iteration} iterations)`).join("; ")}`,
    );
  if (run.stop !== null) {
    lines.push(
      `stopped at: ${run.stopped_at ?? "unknown"}  class: ${run.stop.class}  needs: ${run.stop.needs.join(", ") || "nothing"}`,
    );
    if (run.stop.person_must !== null) lines.push(`a person must first: ${run.stop.person_must}`);
    if (run.stop.question !== null)
      lines.push(
        `question (the agent's words): ${quoted(run.stop.question.text, 800)}${run.stop.question.command === null ? "" : `  command: ${quoted(run.stop.question.command, 800)}`}`,
      );
    if (run.stop.resets_at !== null) lines.push(`resets at: ${run.stop.resets_at} (${relative(run.stop.resets_at, run.now)})`);
  }
  if (run.waiting_until !== null) lines.push(`waiting until: ${run.waiting_until} (${relative(run.waiting_until, run.now)})`);
  return lines;
}

/** "in 3 h 20 min", "20 min ago": models have no clock to compare with. */
function relative(at: string, from: string): string {
  const minutes = Math.round((msOf(at) - msOf(from)) / 60_000);
  const size = Math.abs(minutes);
  const [days, hours] = [Math.floor(size / 1440), Math.floor((size % 1440) / 60)];
  const parts = [
    days > 0 ? `${days} d` : "",
    hours > 0 ? `${hours} h` : "",
    size % 60 > 0 || size === 0 ? `${size % 60} min` : "",
  ];
  const length = parts.filter((part) => part !== "").join(" ");
  return minutes >= 0 ? `in ${length}` : `${length} ago`;
}

function nextLines(actions: Common["next_actions"]): string[] {
  if (actions.length === 0) return [];
  return [
    "Next:",
    ...actions.map(
      (action) =>
        `- ${action.tool} ${JSON.stringify(action.args)}${action.needs.length === 0 ? "" : ` + ${action.needs.join(", ")}`} - ${action.why}`,
    ),
  ];
}

/** A titled list, or null when it is empty: empty sections are left out. */
export function section(title: string, items: readonly string[]): string | null {
  return items.length === 0 ? null : `${title}:\n${items.map((item) => `- ${item}`).join("\n")}`;
}
