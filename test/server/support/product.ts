import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { Launch } from "./clients.ts";

export const ROOT = join(import.meta.dirname, "..", "..", "..");

/** The built product with a home, a repository and a scripted agent of its own, started as mcp.json says. */
export interface Product {
  readonly launch: Launch;
  readonly repo: string;
  close(): Promise<void>;
}

const mcpSchema = z.strictObject({
  mcpServers: z.strictObject({
    loopkeeper: z.strictObject({ type: z.literal("stdio"), command: z.string(), args: z.array(z.string()) }),
  }),
});

export async function makeProduct(script: object): Promise<Product> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "lk-interop-")));
  const repo = join(folder, "repo");
  execFileSync("git", ["init", "-q", "-b", "main", repo]);
  execFileSync("git", [
    "-C",
    repo,
    "-c",
    "user.name=T",
    "-c",
    "user.email=t@localhost",
    "commit",
    "-q",
    "--allow-empty",
    "-m",
    "first",
  ]);
  await writeFile(join(folder, "script.json"), JSON.stringify(script));
  // The worker outlives its client; this one leaves soon, so that no process stays behind after the tests.
  await writeFile(join(folder, "config.json"), JSON.stringify({ default_agent: "scripted", worker_idle_minutes: 0.02 }));
  const { command, args } = mcpSchema.parse(JSON.parse(await readFile(join(ROOT, "mcp.json"), "utf8"))).mcpServers.loopkeeper;
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    LOOPKEEPER_HOME: join(folder, "home"),
    LOOPKEEPER_CONFIG: join(folder, "config.json"),
    LOOPKEEPER_SCRIPT: join(folder, "script.json"),
    LOOPKEEPER_SCRIPTED_HOME: join(folder, "scripted"),
    LOOPKEEPER_LOG: "error",
  };
  return {
    launch: { command: join(ROOT, command), args, cwd: ROOT, env },
    repo,
    close: () => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 }),
  };
}
