import type { Command } from "./commands.ts";
import type { Paint, Screen } from "./layout.ts";

/** What a view of an answer is made with. */
export interface ViewContext {
  readonly screen: Screen;
  readonly paint: Paint;
  readonly commands: readonly Command[];
}

/** A titled list with hanging lines; nothing for an empty one. */
export interface Section {
  readonly title: string;
  readonly lines: readonly string[];
}

export function sections(ctx: ViewContext, list: readonly (Section | null)[]): readonly string[] {
  return list.flatMap((one) => (one === null || one.lines.length === 0 ? [] : ["", ctx.paint.strong(one.title), ...one.lines]));
}
