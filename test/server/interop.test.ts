import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { cancelledWait } from "./support/cancelled-wait.ts";
import { CLIENT_LINES } from "./support/clients.ts";
import { makeProduct, type Product, ROOT } from "./support/product.ts";

const RECORDED = z
  .array(z.looseObject({ name: z.string() }))
  .parse(JSON.parse(readFileSync(join(ROOT, "test/contract/tools.json"), "utf8")));
const NO_RUN = "run_00000000000000000000";
/** One turn that never ends by itself, so that the run is live for as long as a test wants. */
const HANGS = { turns: [[{ say: "I begin." }, { hang: true }]], after: [{ hang: true }] };

const answerSchema = z.looseObject({
  run: z.looseObject({ run_id: z.string(), state: z.string(), stop_reason: z.string().nullable() }),
});

describe.each(CLIENT_LINES)("the built product, started as mcp.json says, and $line", ({ connect }) => {
  let product: Product;
  beforeAll(async () => {
    product = await makeProduct(HANGS);
  });
  afterAll(() => product.close());

  it("lists exactly the recorded tools", async () => {
    const client = await connect(product.launch);
    expect(await client.listTools()).toEqual(RECORDED);
    await client.close();
  });

  it("answers a faulty call with its own words and no structured content", async () => {
    const client = await connect(product.launch);
    await client.listTools();
    const unknown = await client.callTool("run_status", { run_id: NO_RUN, verbose: true });
    expect(unknown).toMatchObject({
      isError: true,
      structured: undefined,
      text: expect.stringMatching(/^bad_input: .*"verbose".*run_id/),
    });
    const missing = await client.callTool("run_status", { run_id: NO_RUN });
    expect(missing).toMatchObject({
      isError: true,
      structured: undefined,
      text: expect.stringMatching(/^run_not_found: .*run_list/),
    });
    await client.close();
  });

  it("starts a run, waits with progress at once, loses only the wait to a cancel, and stops the run", async () => {
    const client = await connect(product.launch);
    // Having listed, the client checks every structured answer against the tool's output schema.
    await client.listTools();
    const started = await client.callTool("coding_loop_start", { repo: product.repo, objective: "never end" });
    expect(started).toMatchObject({ isError: false });
    const { run } = answerSchema.parse(started.structured);
    expect(started.text).toContain(run.run_id);

    await cancelledWait(client, run.run_id);
    const after = answerSchema.parse((await client.callTool("run_status", { run_id: run.run_id })).structured);
    expect(["queued", "running"]).toContain(after.run.state);

    expect(await client.callTool("run_stop", { run_id: run.run_id, request_id: "stop-it" })).toMatchObject({ isError: false });
    const stopped = await client.callTool("run_wait", { run_id: run.run_id });
    expect(answerSchema.parse(stopped.structured).run).toMatchObject({ state: "stopped", stop_reason: "cancelled" });
    const listed = await client.callTool("run_list", { stop_reason: "cancelled" });
    expect(listed.structured).toMatchObject({ runs: [{ run_id: run.run_id }], total: 1 });
    await client.close();
  });
});
