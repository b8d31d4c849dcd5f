import { z } from "zod";

/** Lines for the person who watches the demo. */
export function said(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}

const itemSchema = z.object({ what: z.string(), source: z.string() });
const explanationSchema = z.looseObject({
  headline: z.string(),
  cause: z.looseObject({ stop_reason: z.string(), source: z.string(), evidence: z.string() }),
  completed: z.array(itemSchema),
  midway: z.array(itemSchema),
  intended: z.array(itemSchema),
});

/** The explanation in a few lines; what was observed and what the agent only said are told apart. */
export function explanationLines(explanation: unknown): readonly string[] {
  const parsed = explanationSchema.parse(explanation);
  const items = (title: string, list: readonly z.infer<typeof itemSchema>[]): string[] =>
    list.map((item, index) => `   ${(index === 0 ? title : "").padEnd(16)}${item.what}  [${item.source}]`);
  return [
    `   ${parsed.headline}`,
    `   ${"evidence".padEnd(16)}${parsed.cause.evidence} (${parsed.cause.stop_reason}, source: ${parsed.cause.source})`,
    ...items("completed", parsed.completed),
    ...items("mid-way", parsed.midway),
    ...items("still intended", parsed.intended),
  ];
}
