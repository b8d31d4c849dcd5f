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
    if (step.needs.includes(step.step))
      throw new LoopkeeperError("bad_input", `steps: "${step.step}" needs itself, so it could never begin. Remove that need.`);
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
      const cycle = cycleIn(steps.filter((step) => !placed.has(step.step)));
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

/** The names of one cycle, each needing the next; all steps given need one that is given too. */
function cycleIn(steps: readonly { readonly step: string; readonly needs: readonly string[] }[]): readonly string[] {
  const left = new Map(steps.map((step) => [step.step, step] as const));
  const way: string[] = [];
  let at = steps[0];
  while (at !== undefined && !way.includes(at.step)) {
    way.push(at.step);
    at = at.needs.map((need) => left.get(need)).find((step) => step !== undefined);
  }
  return at === undefined ? way : way.slice(way.indexOf(at.step));
}
