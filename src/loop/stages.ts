import type { StepRecord } from "../run/run.ts";

/** Steps and their needs, pure. */

/** The first pending step in topological order whose needs have all succeeded, or null when nothing can be begun. */
export function nextStep(steps: readonly StepRecord[]): StepRecord | null {
  const succeeded = new Set(steps.filter((step) => step.state === "succeeded").map((step) => step.step));
  const ready = steps.filter((step) => step.state === "pending" && step.needs.every((need) => succeeded.has(need)));
  return ready.toSorted((a, b) => a.position - b.position)[0] ?? null;
}

/** Pending steps that can no longer be begun because a step they need, directly or not, has failed. */
export function unreachableAfter(steps: readonly StepRecord[]): readonly string[] {
  const dead = new Set(steps.filter((step) => step.state === "failed" || step.state === "unreachable").map((step) => step.step));
  const found: string[] = [];
  for (let grew = true; grew; ) {
    grew = false;
    for (const step of steps) {
      if (step.state !== "pending" || dead.has(step.step) || !step.needs.some((need) => dead.has(need))) continue;
      dead.add(step.step);
      found.push(step.step);
      grew = true;
    }
  }
  return found;
}
