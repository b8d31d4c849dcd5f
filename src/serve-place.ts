import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import { logOf } from "./app.ts";
import type { Config } from "./config.ts";
import { createEngines } from "./engine/create.ts";
import type { Engines } from "./engine/engine.ts";
import { jsonOrNull } from "./run/json.ts";

/** Where the `serve` of this home listens: a file that it leaves while it runs, so that `open` finds it. */

export const DEFAULT_PORT = 7433;

/** Whether nobody listens there on loopback. Asked by a connection: who listened to find out would be in the way of a serve. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = connect({ host: "127.0.0.1", port });
    asked.once("error", () => resolve(true));
    asked.once("connect", () => {
      asked.destroy();
      resolve(false);
    });
  });
}

const placeSchema = z.strictObject({
  url: z.string(),
  identity: z.strictObject({ host: z.string(), boot_id: z.string(), pid: z.number().int(), start_time: z.string() }),
});

const fileOf = (config: Config): string => join(config.home, "serve.json");

/** Leaves the file; the answer takes it away again, unless a later serve has left its own. */
export async function leavePlace(config: Config, url: string): Promise<() => void> {
  const { host, boot_id, pid, start_time } = await enginesOf(config).processIdentity();
  const text = JSON.stringify({ url, identity: { host, boot_id, pid, start_time } });
  const own = `${fileOf(config)}.${process.pid}`;
  writeFileSync(own, text, { mode: 0o600 });
  renameSync(own, fileOf(config));
  return () => {
    if (textOf(config) === text) rmSync(fileOf(config), { force: true });
  };
}

/**
 * The serve that runs, or null. It is known by boot, process and start time: a stranger that got its port or its number after its
 * end must not be sent the token.
 */
export async function findPlace(config: Config): Promise<{ readonly url: string; readonly pid: number } | null> {
  const parsed = placeSchema.safeParse(jsonOrNull(textOf(config)));
  if (!parsed.success) return null;
  const { url, identity } = parsed.data;
  return (await enginesOf(config).isAlive(identity)) === true ? { url, pid: identity.pid } : null;
}

function enginesOf(config: Config): Engines {
  return createEngines({ env: config.env, self: config.self, log: logOf(config, "serve") });
}

function textOf(config: Config): string {
  try {
    return readFileSync(fileOf(config), "utf8");
  } catch {
    return "";
  }
}
