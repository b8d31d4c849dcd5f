import type { z } from "zod";
import type { Call } from "./context.ts";
import { everSmaller, fits } from "./fit.ts";

export type ToolEffect = "read" | "write" | "destructive";

/** A tool as its own file writes it. */
export interface ToolDefinition<I extends z.ZodObject, O extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** First sentence: what it does. Then when to use it, when not, and the neighbouring tool. At most 1,024 characters. */
  readonly description: string;
  readonly effect: ToolEffect;
  /** The same call again changes nothing more (with the same request_id where one is taken). */
  readonly idempotent: boolean;
  /** Starts an engine, which may reach anything. */
  readonly openWorld: boolean;
  /** Strict: an unknown argument is refused and named. */
  readonly input: I;
  readonly output: O;
  handle(args: z.output<I>, call: Call): Promise<z.output<O>>;
  /** The answer as text, complete by itself. */
  render(answer: z.output<O>): string;
}

/** A tool as the doors see it: arguments and answers checked at its border. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly effect: ToolEffect;
  readonly idempotent: boolean;
  readonly openWorld: boolean;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  parse(raw: unknown): z.ZodSafeParseResult<Record<string, unknown>>;
  run(raw: unknown, call: Call): Promise<ToolAnswer>;
  /** Renders an answer that was not made by `run`: a stored one that is given again. */
  present(answer: unknown): ToolAnswer;
}

export interface ToolAnswer {
  readonly structured: Record<string, unknown>;
  readonly text: string;
}

/** Closes a definition over its types, so that one array can hold every tool. */
export function defineTool<I extends z.ZodObject, O extends z.ZodObject>(definition: ToolDefinition<I, O>): Tool {
  const { input, output } = definition;
  const present = (answer: unknown): ToolAnswer => {
    const whole = output.parse(answer);
    let given: ToolAnswer = { structured: whole, text: definition.render(whole) };
    for (const smaller of everSmaller(whole)) {
      if (fits(given)) return given;
      const checked = output.parse(smaller);
      given = { structured: checked, text: definition.render(checked) };
    }
    return given;
  };
  return {
    name: definition.name,
    title: definition.title,
    description: definition.description,
    effect: definition.effect,
    idempotent: definition.idempotent,
    openWorld: definition.openWorld,
    input,
    output,
    parse: (raw) => input.safeParse(raw),
    run: async (raw, call) => present(await definition.handle(input.parse(raw), call)),
    present,
  };
}
