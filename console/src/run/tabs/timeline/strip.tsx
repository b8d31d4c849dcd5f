import { useEffect, useRef } from "react";
import type { Timeline } from "../../../../../src/tools/view-timeline.ts";
import { duration, instant, many } from "../format.ts";
import { inks, onThemeChange } from "../theme-inks.ts";
import { outcomeOf } from "./outcome.tsx";
import { signOf } from "./table-rows.tsx";

const HEIGHT = 44;
const BAR_TOP = 16;
/** Between two iterations a stop of hours would leave no room for the work: waiting is drawn this much at most, as a share of all. */
const LONGEST_WAIT = 0.02;

interface Piece {
  readonly ordinal: number;
  readonly from: number;
  readonly to: number;
}

/** The whole run at a glance. The table below says the same in words, so that this is for the eye alone. */
export function Strip({ timeline, onPick }: { readonly timeline: Timeline; readonly onPick: (ordinal: number) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const draw = (): void => drawStrip(element, timeline);
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(element);
    const forget = onThemeChange(draw);
    return () => {
      watch.disconnect();
      forget();
    };
  }, [timeline]);
  const first = timeline.iterations[0];
  const last = timeline.iterations.at(-1);
  if (first === undefined || last === undefined) return null;
  return (
    <figure>
      <div aria-hidden="true">
        <canvas
          ref={canvas}
          className="block h-11 w-full cursor-pointer"
          onClick={(event) => {
            const box = event.currentTarget.getBoundingClientRect();
            const at = (event.clientX - box.left) / box.width;
            const piece = piecesOf(timeline).pieces.find((one) => at <= one.to);
            if (piece !== undefined) onPick(piece.ordinal);
          }}
        />
      </div>
      <figcaption className="mt-1 flex justify-between text-xs text-soft">
        <time>{instant(first.started_ms)}</time>
        <span className="max-sm:hidden">
          {many(timeline.iterations.length, "iteration")} over {duration((last.ended_ms ?? timeline.now_ms) - first.started_ms)},
          waits shortened
        </span>
        <time>{instant(last.ended_ms ?? timeline.now_ms)}</time>
      </figcaption>
    </figure>
  );
}

/** Where each iteration lies, from 0 to 1, and where an instant does. */
function piecesOf(timeline: Timeline): { readonly pieces: readonly Piece[]; readonly place: (ms: number) => number } {
  const { iterations, now_ms } = timeline;
  const end = (index: number): number => iterations[index]?.ended_ms ?? now_ms;
  const work = iterations.reduce((sum, one, index) => sum + Math.max(1, end(index) - one.started_ms), 0);
  const wait = (index: number): number => {
    const next = iterations[index + 1];
    return next === undefined ? 0 : Math.min(Math.max(0, next.started_ms - end(index)), work * LONGEST_WAIT);
  };
  const whole = work + iterations.reduce((sum, _, index) => sum + wait(index), 0);
  let at = 0;
  const pieces = iterations.map((one, index) => {
    const from = at / whole;
    at += Math.max(1, end(index) - one.started_ms);
    const piece = { ordinal: one.ordinal, from, to: at / whole };
    at += wait(index);
    return piece;
  });
  const place = (ms: number): number => {
    const next = iterations.findIndex((one) => one.started_ms >= ms);
    return next < 0 ? 1 : (pieces[next]?.from ?? 0);
  };
  return { pieces, place };
}

function drawStrip(canvas: HTMLCanvasElement, timeline: Timeline): void {
  const ratio = devicePixelRatio;
  const width = canvas.clientWidth;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  const ink = inks();
  pen.scale(ratio, ratio);
  pen.clearRect(0, 0, width, HEIGHT);
  pen.fillStyle = ink.raised;
  pen.fillRect(0, BAR_TOP, width, HEIGHT - BAR_TOP);
  const { pieces, place } = piecesOf(timeline);
  timeline.iterations.forEach((iteration, index) => {
    const piece = pieces[index];
    if (piece === undefined) return;
    const left = piece.from * width;
    const room = (piece.to - piece.from) * width;
    const gap = room > 3 ? 1 : 0;
    const { tone } = outcomeOf(iteration);
    pen.globalAlpha = tone === "good" ? 0.55 : 1;
    pen.fillStyle = ink[tone];
    // What went wrong is also taller, and never too narrow to be seen.
    const top = tone === "bad" || tone === "needs" ? BAR_TOP : BAR_TOP + 5;
    pen.fillRect(left, top, Math.max(tone === "good" ? 0.5 : 1, room - gap), HEIGHT - top);
  });
  pen.globalAlpha = 1;
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "center";
  let free = 0;
  for (const mark of timeline.marks) {
    const own = Math.min(width - 6, Math.max(6, place(mark.at_ms) * width));
    const x = Math.max(own, free);
    // Beside its place where that is taken; further off it would say something else.
    if (x > own + 26 || x > width - 6) continue;
    free = x + 12;
    pen.fillStyle = mark.kind === "stop" || mark.kind === "reset" ? ink.needs : ink.soft;
    pen.fillText(signOf(mark.kind), x, 11);
  }
}
