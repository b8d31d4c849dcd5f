import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    exclude: ["test/agents/**", "node_modules/**"],
    // A net for what hangs, not a measure: on two cores a story that shares them with eight others is slow.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: "forks",
    maxWorkers: 3,
    maxConcurrency: 3,
  },
});
