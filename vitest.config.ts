import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** They wait for many things one after the other: begun last, everything else would be done and wait for them. */
const LONGEST = [
  "crash/worker",
  "crash/redo",
  "console/console",
  "scenarios/retention",
  "scenarios/stages-redo",
  "scenarios/gate",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((name) => moduleId.endsWith(`${name}.test.ts`));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    exclude: ["test/agents/**", "node_modules/**"],
    // A net for what hangs, not a measure: on two cores a story that shares them with eight others is slow.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    sequence: { sequencer: LongestFirst },
    pool: "forks",
    // More than two cores can do at once: half of a story's time is waiting.
    maxWorkers: 4,
    maxConcurrency: 3,
  },
});
