import type { z } from "zod";
import type { startOutput } from "../tools/coding-loop-start.ts";
import type { archiveOutput } from "../tools/run-archive.ts";
import type { resumeOutput } from "../tools/run-resume.ts";
import type { RunView } from "../tools/schemas.ts";
import { hanging } from "./layout.ts";
import { doNext } from "./render-run.ts";
import { type Section, sections, type ViewContext } from "./view.ts";

interface Done {
  readonly summary: string;
  readonly run?: RunView | undefined;
  readonly next_actions?: readonly { tool: string; args: Record<string, unknown>; needs: string[]; why: string }[] | undefined;
}

/** What a writing command did, what is worth a warning, and what to do next. */
export function renderDone(answer: Done, ctx: ViewContext, own: readonly (Section | null)[] = []): string {
  return [
    ...hanging("", ctx.paint.strong(answer.summary), ctx.screen),
    ...sections(ctx, [
      ...own,
      answer.run === undefined ? null : doNext(ctx, answer.run, (answer.next_actions ?? []).slice(0, 3)),
    ]),
  ].join("\n");
}

export function renderStarted(answer: z.output<typeof startOutput>, ctx: ViewContext): string {
  const { would, predecessor } = answer;
  const others = (answer.other_live_runs ?? []).map((run) => `${run.run_id} (${run.state}) ${run.objective}`);
  const before =
    predecessor == null
      ? []
      : [
          `${predecessor.run_id} (${predecessor.stop_reason ?? predecessor.state}) ran before; ${predecessor.briefed ? "the agent is briefed from it" : `not briefed: ${predecessor.why}`}`,
        ];
  return renderDone(answer, ctx, [
    bullets(ctx, "Warnings", answer.warnings ?? []),
    bullets(ctx, "Other live runs on this repository", others),
    bullets(ctx, "The run before", before),
    would === undefined
      ? null
      : bullets(ctx, "It would be", [
          `agent ${would.agent}${would.model === null ? "" : ` ${would.model}`}, at most ${would.max_iterations} iterations`,
          `${would.workspace.kind === "worktree" ? "worktree" : "in place"} ${would.workspace.path}${would.workspace.branch === null ? "" : ` on ${would.workspace.branch}`}`,
        ]),
  ]);
}

const CONTEXTS: Readonly<Record<string, string>> = {
  native: "the agent has its own conversation back",
  handoff: "a new conversation, which gets a note of what was done",
  pending: "the agent is still starting",
};

export function renderResumed(answer: z.output<typeof resumeOutput>, ctx: ViewContext): string {
  const { resumed, would } = answer;
  const how = resumed ?? would;
  return renderDone(answer, ctx, [
    how == null
      ? null
      : bullets(ctx, resumed == null ? "It would" : "How it goes on", [
          `from ${how.from === "stop" ? "where it stopped" : "the step's start"}: ${CONTEXTS[how.context] ?? how.context}${resumed?.why_handoff == null ? "" : ` (${resumed.why_handoff})`}`,
        ]),
    resumed?.restore == null
      ? null
      : bullets(ctx, `Restored (undo: loopkeeper reset --to ${resumed.restore.safety_checkpoint})`, [
          ...resumed.restore.restored,
          ...resumed.restore.removed.map((path) => `${path} removed`),
        ]),
  ]);
}

export function renderArchived(answer: z.output<typeof archiveOutput>, ctx: ViewContext): string {
  return renderDone(answer, ctx, [
    bullets(ctx, "Freed", answer.freed),
    bullets(ctx, "Kept, because it is needed or exists nowhere else", answer.kept),
  ]);
}

function bullets(ctx: ViewContext, title: string, list: readonly string[]): Section {
  return { title, lines: list.flatMap((text) => hanging("  * ", text, ctx.screen)) };
}
