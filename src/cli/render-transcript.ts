import type { z } from "zod";
import { shortId } from "../run/id.ts";
import type { transcriptOutput } from "../tools/run-transcript.ts";
import { wrap } from "./layout.ts";
import type { ViewContext } from "./view.ts";

type Transcript = z.output<typeof transcriptOutput>;
type Entry = Transcript["entries"][number];

/** Lines of an entry that are shown before it is folded. */
const FOLD = 8;

export interface TranscriptStyle {
  /** Entries whole, however long. */
  readonly full: boolean;
}

export function renderTranscript(page: Transcript, ctx: ViewContext, style: TranscriptStyle = { full: false }): string {
  const id = shortId(page.run.run_id);
  const first = page.entries[0];
  const older = page.next_cursor?.startsWith("before-") === true;
  return [
    ctx.paint.faint(page.summary.replace(page.run.run_id, id)),
    ...(older
      ? [ctx.paint.faint(`Before these: loopkeeper transcript ${id} --cursor ${page.next_cursor ?? ""}   from the start: --all`)]
      : []),
    ...entryLines(page.entries, ctx, style),
    ...page.gaps.map((gap) => ctx.paint.warn(`gap: ${gap}`)),
    ...(page.next_cursor === null || older || first === undefined
      ? []
      : ["", `More: loopkeeper transcript ${id} --cursor ${page.next_cursor}`]),
  ].join("\n");
}

export function entryLines(entries: readonly Entry[], ctx: ViewContext, style: TranscriptStyle): readonly string[] {
  return entries.flatMap((entry) => ["", headOf(entry, ctx), ...textLines(entry, ctx, style)]);
}

const WHO = { agent: "accent", tool: "faint", loop: "good", owner: "warn" } as const;

function headOf(entry: Entry, ctx: ViewContext): string {
  const who = ctx.paint[WHO[entry.who]](`${entry.who} ${entry.kind}`);
  const about = entry.about === null ? "" : ` ${entry.about}`;
  return `${ctx.paint.faint(`#${entry.n} ${entry.at.slice(11, 19)} [${entry.iteration}]`)} ${who}${ctx.paint.faint(about)}`;
}

/** Each line stands behind a bar: words of an agent cannot pose as a line of ours. */
function textLines(entry: Entry, ctx: ViewContext, style: TranscriptStyle): readonly string[] {
  const columns = ctx.screen.columns === null ? null : Math.max(12, ctx.screen.columns - 2);
  const lines = wrap(entry.text.trimEnd(), columns);
  const shown = style.full || lines.length <= FOLD + 2 ? lines : lines.slice(0, FOLD);
  const folded = lines.length - shown.length;
  return [
    ...shown.map((line) => `${ctx.paint.faint("|")} ${line}`),
    ...(folded > 0 ? [ctx.paint.faint(`  ... ${folded} more lines (--full shows them)`)] : []),
    ...(entry.cut === null
      ? []
      : [ctx.paint.faint(`  ... of ${entry.cut.characters} characters; read on: --cursor ${entry.cut.rest}`)]),
  ];
}
