import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, test } from "vitest";
import { z } from "zod";
import { BIN, newProduct } from "../support/product.ts";

const product = await newProduct();

test("what every answer gives the address of can be read there", async () => {
  const repo = product.box.repo("resources");
  const agent = product.agent("resources", [
    [
      { say: "MY-WORDS" },
      { plan: [["write n", "completed"]] },
      { edit: { path: "n", content: "one line\n" } },
      { edit: { path: "z-long", content: Array.from({ length: 10_000 }, (_, line) => `a long line ${line}\n`).join("") } },
      { report: { completed: [], intended: [], verdict: "done" } },
    ],
  ]);
  const door = await product.connect();
  const run = await door.start({ repo, objective: "Be read", agent });
  await door.ended(run.run_id);
  await door.close();

  const client = new Client({ name: "reader", version: "0" });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [BIN],
      env: { ...product.env },
      cwd: product.box.dir,
      stderr: "ignore",
    }),
  );
  const read = async (uri: string): Promise<string> => {
    const { contents } = await client.readResource({ uri });
    return z
      .array(z.looseObject({ text: z.string() }))
      .parse(contents)
      .map((part) => part.text)
      .join("");
  };
  const uris = z.record(z.string(), z.string()).parse(run["uris"]);
  expect(Object.keys(uris).sort()).toEqual(["diff", "note", "plan", "report", "transcript"]);
  expect(await read(uris["transcript"] ?? "")).toContain("MY-WORDS");
  expect(await read(uris["diff"] ?? "")).toContain("+one line");
  expect(await read(uris["plan"] ?? "")).toBe("[completed] write n");
  expect(await read(uris["report"] ?? "")).toContain("is done");
  const base = `loopkeeper://runs/${run.run_id}`;
  expect(await read(`${base}/iterations/1`)).toContain("Iteration 1 of 10");
  expect(await read(`${base}/transcript?cursor=start`)).toMatch(/^#1 /u);
  expect(await read(`${base}/iterations/1?cursor=after-1`)).not.toMatch(/^#1 /mu);
  await expect(client.readResource({ uri: `${base}/transcript?cursor=zzz` })).rejects.toThrow(/cursor/u);
  const checkpoints = (await read(`${base}/checkpoints`)).split("\n");
  expect(checkpoints.map((line) => line.split(" ")[1])).toEqual(expect.arrayContaining(["entry", "iteration"]));
  const newest = checkpoints[0]?.split(" ")[0] ?? "";
  expect(await read(`${base}/checkpoints/${newest}/diff`)).toContain("+one line");
  const pages = [await read(`${base}/diff`)];
  for (let more: string | undefined = ""; more !== undefined; ) {
    more = /\n\(more: (\S+)\)$/u.exec(pages.at(-1) ?? "")?.[1];
    if (more !== undefined) pages.push(await read(more));
  }
  expect(pages).toHaveLength(2);
  expect(pages.join("")).toMatch(/^\+a long line 9999$/mu);
  const { prompts } = await client.listPrompts();
  expect(prompts.map((prompt) => prompt.name).sort()).toEqual(["review_stopped_run", "supervise_runs"]);
  const review = await client.getPrompt({ name: "review_stopped_run", arguments: { run_id: run.run_id } });
  expect(JSON.stringify(review.messages)).toContain(run.run_id);
  await expect(client.readResource({ uri: "loopkeeper://runs/run_00000000000000000000/report" })).rejects.toThrow(
    /run_00000000000000000000/u,
  );
  await client.close();
});
