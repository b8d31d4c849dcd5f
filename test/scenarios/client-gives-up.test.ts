import { existsSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect, test } from "vitest";
import { z } from "zod";
import { BIN, newProduct } from "../support/product.ts";

const product = await newProduct();
const place = () => ({
  command: process.execPath,
  args: [BIN],
  env: { ...product.env },
  cwd: product.box.dir,
  stderr: "ignore" as const,
});

const viewSchema = z.looseObject({
  run: z.looseObject({ run_id: z.string(), state: z.string(), stop_reason: z.string().nullable(), revision: z.number() }),
  timed_out: z.boolean().optional(),
  next_actions: z.array(z.looseObject({ tool: z.string(), args: z.record(z.string(), z.unknown()) })),
});

test("C53: the start answers at once, a wait answers before a client gives up, and a call that was given up stops nothing", async () => {
  const repo = product.box.repo("given-up");
  const go = join(product.box.dir, "go");
  const agent = product.agent("patient", [
    [{ run: `while [ ! -e ${go} ]; do sleep 0.05; done` }, { edit: { path: "done.txt", content: "done\n" } }],
    [{ report: { completed: [], intended: [], verdict: "done" } }],
  ]);
  const client = new Client({ name: "impatient", version: "0" });
  await client.connect(new StdioClientTransport(place()));
  const old = new OldClient({ name: "impatient", version: "0" });
  await old.connect(new OldTransport(place()));

  // The default of the wait lies below the 60 s of the shortest clients, with room for a slow answer.
  const wait = (await client.listTools()).tools.find((tool) => tool.name === "run_wait");
  expect(wait?.description).toContain("timed_out: true is normal");
  expect(JSON.stringify(wait?.inputSchema.properties)).toContain("default 45");

  const started = viewSchema.parse(
    (await client.callTool({ name: "coding_loop_start", arguments: { repo, objective: "Take long", agent } })).structuredContent,
  );
  const { run_id } = started.run;
  const waiting = { name: "run_wait", arguments: { run_id, timeout_s: 280 } };

  // Clients that give up: by their own timeout, by a cancel, without and with progress, of both protocol revisions; one goes away.
  await expect(client.callTool(waiting, { timeout: 700 })).rejects.toThrow(/timed? ?out/iu);
  await expect(old.callTool(waiting, undefined, { timeout: 700 })).rejects.toThrow(/timed? ?out/iu);
  const abort = new AbortController();
  const cancelled = client.callTool(waiting, { signal: abort.signal });
  setTimeout(() => abort.abort(), 300);
  await expect(cancelled).rejects.toThrow();
  const signs: number[] = [];
  await expect(
    old.callTool(waiting, undefined, { timeout: 1_500, onprogress: ({ progress }) => signs.push(progress) }),
  ).rejects.toThrow(/timed? ?out/iu);
  expect(signs[0]).toBe(1);
  const leaving = new Client({ name: "leaving", version: "0" });
  await leaving.connect(new StdioClientTransport(place()));
  const left = leaving.callTool(waiting).catch(() => "gone");
  await new Promise((resolve) => setTimeout(resolve, 300));
  await leaving.close();
  expect(await left).toBe("gone");

  // A start whose answer nobody waited for is under way all the same; the same request_id finds it.
  const again = { repo, objective: "Be lost", agent, request_id: "lost-1" };
  await client.callTool({ name: "coding_loop_start", arguments: again }, { timeout: 1 }).catch(() => null);
  const found = viewSchema.parse((await client.callTool({ name: "coding_loop_start", arguments: again })).structuredContent);
  const rows = z
    .looseObject({ runs: z.array(z.looseObject({ run_id: z.string(), objective: z.string() })) })
    .parse((await client.callTool({ name: "run_list", arguments: {} })).structuredContent).runs;
  expect(rows.filter((row) => row.objective === "Be lost").map((row) => row.run_id)).toEqual([found.run.run_id]);

  // A wait that ends by itself says so and how to go on; nothing was stopped by all this.
  const partial = viewSchema.parse(
    (await client.callTool({ name: "run_wait", arguments: { run_id, timeout_s: 1 } }, { timeout: 30_000 })).structuredContent,
  );
  expect(partial).toMatchObject({ timed_out: true, run: { state: "running", stop_reason: null } });
  expect(partial.next_actions[0]).toMatchObject({ tool: "run_wait", args: { run_id, since_revision: partial.run.revision } });
  expect(existsSync(go)).toBe(false);
  product.box.sh(repo, `touch ${go}`);
  for (const id of [run_id, found.run.run_id]) {
    const ended = await client.callTool({ name: "run_wait", arguments: { run_id: id, timeout_s: 280 } }, { timeout: 290_000 });
    expect(viewSchema.parse(ended.structuredContent)).toMatchObject({ timed_out: false, run: { state: "done" } });
  }
  await client.close();
  await old.close();
});
