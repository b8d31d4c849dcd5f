import { defineConfig } from "vitest/config";

// One file per agent, all at once: much of their time is waiting (for a dead driver to be noticed), and four agents fit in 4 GB.
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["../support/global-setup.ts"],
    testTimeout: 240_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 4,
  },
});
