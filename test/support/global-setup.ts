import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { ownServer, stopServer } from "./postgres.ts";
import { leaveMemory, moveIntoMemory } from "./temp-folder.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Folder of the Postgres that tests share; it is started there by the first test that needs it. */
    postgresHome: string;
  }
}

let home = "";

export function setup(project: TestProject): void {
  moveIntoMemory();
  home = mkdtempSync(join(tmpdir(), "lk-pg-"));
  ownServer(home);
  project.provide("postgresHome", home);
}

export function teardown(): void {
  stopServer(home);
  rmSync(home, { recursive: true, force: true });
  leaveMemory();
}
