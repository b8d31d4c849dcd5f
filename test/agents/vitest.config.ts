import { defineConfig } from "vitest/config";

// Agents want up to a gigabyte each: two at once is what two cores and a small machine carry.
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    testTimeout: 240_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
  },
});
