import { LoopkeeperError } from "./errors.ts";

/** Orders steps so that each comes after what it needs, keeping the given order otherwise. `bad_input` on unknown or cyclic needs. */
export function orderSteps<S extends { readonly step: string; readonly needs: readonly string[] }>(
  steps: readonly S[],
): readonly S[] {
  const names = new Set<string>();
  for (const step of steps) {
    if (names.has(step.step))
      throw new LoopkeeperError("bad_input", `steps: "${step.step}" appears twice; give each step its own name.`);
    names.add(step.step);
  }
  for (const step of steps) {
    const unknown = step.needs.filter((need) => !names.has(need));
    if (unknown.length > 0)
      throw new LoopkeeperError(
        "bad_input",
        `steps: "${step.step}" needs unknown ${unknown.map((need) => `"${need}"`).join(", ")}. Known steps: ${[...names].join(", ")}.`,
      );
  }
  const ordered: S[] = [];
  const placed = new Set<string>();
  while (ordered.length < steps.length) {
    const next = steps.find((step) => !placed.has(step.step) && step.needs.every((need) => placed.has(need)));
    if (next === undefined) {
      const cycle = steps.filter((step) => !placed.has(step.step)).map((step) => step.step);
      throw new LoopkeeperError(
        "bad_input",
        `steps: the needs of ${cycle.join(", ")} form a cycle, so none of them could ever begin. Remove one of these needs.`,
      );
    }
    placed.add(next.step);
    ordered.push(next);
  }
  return ordered;
}
