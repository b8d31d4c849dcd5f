import type { z } from "zod";
import type { ToolContext } from "./context.ts";
import type { Tool, ToolAnswer } from "./define-tool.ts";

/** A reading for pages that people look at. */
export interface ViewDefinition<I extends z.ZodObject, O extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Strict: an unknown argument is refused and named. */
  readonly input: I;
  readonly output: O;
  read(args: z.output<I>, ctx: ToolContext): Promise<z.output<O>>;
}

/**
 * A view is called like a tool and is none: agents do not see it, and its answer is not held to the size of a reply, since a
 * page wants hundreds of rows at once. It changes nothing.
 */
export function defineView<I extends z.ZodObject, O extends z.ZodObject>(definition: ViewDefinition<I, O>): Tool {
  const { name, title, description, input, output } = definition;
  const present = (answer: unknown): ToolAnswer => ({ structured: output.parse(answer), text: title });
  return {
    name,
    title,
    description,
    effect: "read",
    idempotent: true,
    openWorld: false,
    input,
    output,
    parse: (raw) => input.safeParse(raw),
    run: async (raw, { ctx }) => present(await definition.read(input.parse(raw), ctx)),
    present,
  };
}
