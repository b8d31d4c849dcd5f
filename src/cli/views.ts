import { z } from "zod";
import { startOutput } from "../tools/coding-loop-start.ts";
import { archiveOutput } from "../tools/run-archive.ts";
import { diffOutput } from "../tools/run-diff.ts";
import { explainOutput } from "../tools/run-explain-stop.ts";
import { listOutput } from "../tools/run-list.ts";
import { redoOutput } from "../tools/run-redo.ts";
import { resetOutput } from "../tools/run-reset.ts";
import { resumeOutput } from "../tools/run-resume.ts";
import { statusOutput } from "../tools/run-status.ts";
import { transcriptOutput } from "../tools/run-transcript.ts";
import { commonShape } from "../tools/schemas.ts";
import { reclaimPreviewOutput } from "../tools/view-reclaim-preview.ts";
import { patchLines, statLines } from "./render-diff.ts";
import { renderArchived, renderDone, renderResumed, renderStarted } from "./render-done.ts";
import { renderExplain } from "./render-explain.ts";
import { renderList } from "./render-list.ts";
import { type Restoring, renderPreview, renderReclaimPreview, renderRestored } from "./render-preview.ts";
import { renderStatus } from "./render-status.ts";
import { renderTranscript } from "./render-transcript.ts";
import { spelledOut } from "./spell-out.ts";
import type { ViewContext } from "./view.ts";

type View = (answer: unknown, ctx: ViewContext) => string | null;

/** A view of answers of one shape; null for an answer of another shape, which is shown as the tool wrote it. */
function view<S extends z.ZodType>(schema: S, render: (answer: z.output<S>, ctx: ViewContext) => string): View {
  return (answer, ctx) => {
    const parsed = schema.safeParse(answer);
    return parsed.success ? render(parsed.data, ctx) : null;
  };
}

const done = view(z.object(commonShape), renderDone);
const restoring = (answer: Restoring, ctx: ViewContext): string =>
  answer.needs_confirmation === true ? renderPreview(answer, ctx) : renderRestored(answer, ctx);

const VIEWS: Readonly<Record<string, View>> = {
  coding_loop_start: view(startOutput, renderStarted),
  run_list: view(listOutput, renderList),
  run_status: view(statusOutput, renderStatus),
  run_wait: done,
  run_explain_stop: view(explainOutput, renderExplain),
  run_transcript: view(transcriptOutput, renderTranscript),
  run_diff: view(diffOutput, (page, ctx) =>
    [...statLines(page.summary, page.files, ctx), "", ...patchLines(page.patch, ctx)].join("\n"),
  ),
  run_resume: view(resumeOutput, renderResumed),
  run_grant_iterations: done,
  run_reset: view(resetOutput, restoring),
  run_redo: view(redoOutput, restoring),
  run_stop: done,
  run_instruct: done,
  run_archive: view(archiveOutput, renderArchived),
  reclaim_preview: view(reclaimPreviewOutput, renderReclaimPreview),
};

/** The answer of a tool for a person, with nothing in it that a terminal obeys but our own colours. Null: there is no view. */
export function viewOf(tool: string, structured: unknown, ctx: ViewContext): string | null {
  return VIEWS[tool]?.(spelledOut(structured), ctx) ?? null;
}
