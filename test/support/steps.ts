import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Door, Product, RunView } from "./product.ts";

/** Stories of runs with several steps: each step's agent is told apart by the first prompt of its session. */

export const DONE = { report: { completed: [], intended: [], verdict: "done" } };
export const BLOCKED = { report: { completed: [], intended: [], verdict: "blocked", summary: "cannot" } };

/** What a step's agent does at its first prompt: its own file, a line in a log beside the repository, then `more` (default: done). */
export const does = (step: string, ...more: readonly unknown[]) => ({
  when: `THIS STEP (${step}`,
  do: [
    { edit: { path: `${step}.txt`, content: `${step}\n` } },
    { run: `echo ${step} >> "$LOOPKEEPER_TEST_RAN"` },
    ...(more.length > 0 ? more : [DONE]),
  ],
});

export const STEPS = [
  { step: "one", objective: "first" },
  { step: "two", objective: "second", needs: ["one"] },
  { step: "three", objective: "third", needs: ["two"] },
] as const;

/** `a`; `b` and `c` need it; `d` needs both. */
export const DIAMOND = [
  { step: "d", objective: "last", needs: ["b", "c"] },
  { step: "a", objective: "first" },
  { step: "b", objective: "left", needs: ["a"] },
  { step: "c", objective: "right", needs: ["a"] },
] as const;

export interface Story {
  readonly run_id: string;
  readonly repo: string;
  readonly tree: string;
  /** Steps in the order in which they were worked at. */
  ran(): string[];
}

/** Starts a run of steps whose agent plays `turns`; `args` go to coding_loop_start. */
export async function startStory(
  product: Product,
  door: Door,
  name: string,
  turns: readonly unknown[],
  args: Readonly<Record<string, unknown>> = {},
): Promise<Story> {
  const repo = product.box.repo(name);
  const ran = join(product.box.dir, `${name}.ran`);
  const agent = product.agent(name, turns, { env: { LOOPKEEPER_TEST_RAN: ran } });
  const run = await door.start({ repo, objective: `Story ${name}`, agent, steps: STEPS, ...args });
  const lines = (): string[] => readFileSync(ran, "utf8").trim().split("\n");
  return { run_id: run.run_id, repo, tree: run.workspace.path, ran: lines };
}

/** State and attempt of each step, by its name. */
export const states = (run: RunView) => Object.fromEntries(run.steps.map((step) => [step.step, [step.state, step.attempt]]));

const promptSchema = z.object({ type: z.literal("prompt"), text: z.string() });

/** All prompts that reached engine sessions of this product and hold the text. */
export function promptsWith(product: Product, text: string): readonly string[] {
  const folder = join(product.box.dir, "scripted");
  return readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .flatMap((line) => {
        const prompt = promptSchema.safeParse(JSON.parse(line));
        return prompt.success && prompt.data.text.includes(text) ? [prompt.data.text] : [];
      }),
  );
}
