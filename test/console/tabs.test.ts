import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { type HugeRun, NEEDLE, writeHugeRun } from "../support/huge-run.ts";
import { newProduct } from "../support/product.ts";
import { type Serve, startServe } from "../support/serve.ts";
import { axe, overflow, type Visit, visit } from "./support/browser.ts";

/** The parts of a run's page, in a real browser on a real server. */

const ITERATIONS = 1_500;
const ENTRIES = 40;

const product = await newProduct();
const go = join(product.box.dir, "go-on");
let serve: Serve;
let huge: HugeRun;
let real: string;
let live: string;
let eye: Visit;

beforeAll(async () => {
  const store = await openStore({ url: null, path: join(product.home, "loopkeeper.db"), onError: () => {} });
  huge = await writeHugeRun(store, { iterations: ITERATIONS, entries: ENTRIES });
  await store.close();
  const door = await product.connect();
  real = await realRun(door);
  const agent = product.agent("talker", [
    [
      { repeat: { times: 40, do: [{ say: "Before the sign. " }, { run: "true" }] } },
      { run: `until test -e ${go}; do sleep 0.1; done` },
      { repeat: { times: 15, do: [{ say: "After the sign. " }, { run: "true" }] } },
      { say: "The very last words.\n" },
      { hang: true },
    ],
  ]);
  live = (await door.start({ repo: product.box.repo("talked"), objective: "Talk", agent })).run_id;
  await door.close();
  serve = await startServe(product.env);
  eye = await visit(serve);
});
afterAll(() => serve?.child.kill());

async function realRun(door: Awaited<ReturnType<typeof product.connect>>): Promise<string> {
  const repo = product.box.repo("shown");
  writeFileSync(join(repo, "picture.bin"), "\0\0one");
  product.box.git(repo, "add", "-A");
  product.box.git(repo, "commit", "-qm", "A picture");
  const agent = product.agent("worker", [
    [
      {
        plan: [
          ["Write the mark", "in_progress"],
          ["Retry rows", "pending"],
        ],
      },
      { think: "The importer keeps no place.\nA mark would do." },
      { say: "I write the mark." },
      { edit: { path: "src/mark.ts", content: "export const mark = 1;\n" } },
      { run: "printf '\\0\\0two' > picture.bin && git mv e.txt moved.txt" },
      { usage: { input: 1_000, output: 100, cost: 0.25 } },
      { report: { completed: ["mark"], intended: ["retry"], summary: "The mark is written." } },
    ],
    [
      {
        plan: [
          ["Write the mark", "completed"],
          ["Retry rows", "in_progress"],
        ],
      },
      { edit: { path: "src/mark.ts", content: "export const mark = 2;\n" } },
      { commit: "Move the mark" },
      { say: "Half of the retry is there." },
    ],
  ]);
  const { run_id } = await door.start({
    repo,
    objective: "Make the import resumable",
    agent,
    max_iterations: 2,
    verify: ["true"],
  });
  const { workspace } = await door.ended(run_id);
  appendFileSync(join(workspace.path, "by-hand.txt"), "mine\n");
  return run_id;
}

const TABS = [
  ["Timeline", "timeline"],
  ["Changes", "changes?path=src/mark.ts"],
  ["Transcript", "transcript?n=1"],
  ["Plan", "plan"],
  ["Checkpoints", "checkpoints"],
  ["Cost", "cost"],
] as const;

/** Tabs of a long run that hold more than a page's width. */
const WIDE = [
  ["plan", "The plan over time"],
  ["checkpoints", "Checkpoints"],
] as const;

const rowsInSight = (page: Page) => page.getByRole("region", { name: "Transcript" }).getByRole("listitem");

/** Numbers of the entries that are in the page, once they have been read. */
async function numbersInSight(page: Page): Promise<number[]> {
  await rowsInSight(page)
    .getByTitle(/^Entry /u)
    .nth(3)
    .waitFor();
  const texts = await rowsInSight(page)
    .getByTitle(/^Entry /u)
    .allTextContents();
  return texts.map(Number);
}

describe("the parts of a run's page", () => {
  it("show a timeline that leads from an iteration into the transcript", async () => {
    const { page } = eye;
    await eye.go(`/runs/${real}/timeline`);
    const table = page.getByRole("table", { name: "2 iterations in order of time" });
    await table.getByRole("row", { name: /The mark is written/u }).waitFor();
    expect(await table.getByRole("row", { name: /stopped: max_iterations/u }).count()).toBe(1);
    await table.getByRole("link", { name: "2", exact: true }).click();
    await page.getByRole("heading", { name: "Iteration 2" }).waitFor();
    expect(page.url()).toContain(`/runs/${real}/transcript?iteration=2`);
  });

  it("draw only what is in sight of thousands of iterations, and come to any of them", async () => {
    const { page } = eye;
    await eye.go(`/runs/${huge.run_id}/timeline`);
    const region = page.getByRole("region", { name: "Iterations" });
    await region.getByRole("link", { name: "1", exact: true }).waitFor();
    expect(await region.getByRole("row").count()).toBeLessThan(100);
    await region.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await region.getByRole("link", { name: String(huge.finished), exact: true }).waitFor();
    expect(await region.getByRole("row").count()).toBeLessThan(100);
  });

  it("open a transcript at its end, at any entry by its address, and in the middle by hand", async () => {
    const { page } = eye;
    await eye.go(`/runs/${huge.run_id}/transcript`);
    await page.getByTitle(`Entry ${huge.entries},`).waitFor();
    await eye.go(`/runs/${huge.run_id}/transcript?n=24681`);
    await page.getByTitle("Entry 24681,").waitFor();
    const place = page.getByLabel("Place in the transcript");
    await place.fill("40000");
    await page.getByTitle("Entry 40000,").waitFor();
    expect(await rowsInSight(page).count()).toBeLessThan(100);
    // Scrolled on by hand, over the edge of what is held: entries follow each other without a break.
    const list = page.getByRole("region", { name: "Transcript" });
    await list.hover();
    for (let turn = 0; turn < 12; turn += 1) {
      await page.mouse.wheel(0, -6_000);
      await page.waitForTimeout(60);
    }
    const shown = await numbersInSight(page);
    expect(shown).toEqual(shown.map((_, index) => (shown[0] ?? 0) + index));
    expect(shown[0]).toBeLessThan(39_000);
    // The keys lead to the ends of the transcript, not to those of what is held.
    await list.focus();
    await page.keyboard.press("Home");
    await page.getByTitle("Entry 1,").waitFor();
    await page.getByText(`entry 1 of ${huge.entries.toLocaleString("en")}`).waitFor();
    await page.keyboard.press("End");
    await page.getByTitle(`Entry ${huge.entries},`).waitFor();
  });

  it("say of an address that leads nowhere what is shown instead", async () => {
    const { page } = eye;
    await eye.go(`/runs/${huge.run_id}/transcript?iteration=99999`);
    await page.getByText("Iteration 99,999 has no entries.").waitFor();
    await page.getByTitle(`Entry ${huge.entries},`).waitFor();
    await eye.go(`/runs/${huge.run_id}/transcript?n=99999999`);
    await page.getByText("There is no entry 99,999,999; this is the end.").waitFor();
    await eye.go(`/runs/${real}/changes?path=never-there.txt`);
    await page.getByText("never-there.txt does not differ.").waitFor();
  });

  it("find one word among all entries and mark it", async () => {
    const { page } = eye;
    await eye.go(`/runs/${huge.run_id}/transcript`);
    await page.getByLabel("Search the transcript").fill("QUOKKA");
    await page.keyboard.press("Enter");
    await page.locator("mark", { hasText: "quokka" }).waitFor();
    expect(await page.getByTitle(`Entry ${huge.needle_n},`).count()).toBe(1);
    expect(await page.getByText("1 of 1", { exact: true }).count()).toBe(1);
    await page.getByLabel("Search the transcript").fill("keeps");
    await page.keyboard.press("Enter");
    await page.getByText("1 of 200+").waitFor();
    await page.getByRole("button", { name: "The next hit" }).click();
    await page.getByText("2 of 200+").waitFor();
    expect(NEEDLE).toContain("quokka");
  });

  it("fold thoughts and outputs, and open them", async () => {
    const { page } = eye;
    await eye.go(`/runs/${real}/transcript?n=1`);
    await page.getByText("I write the mark.").waitFor();
    expect(await page.getByText("The mark is written.").count()).toBeGreaterThan(0);
    const thought = page.getByRole("article").filter({ hasText: "The importer keeps no place." });
    await thought.getByRole("button", { name: "More" }).click();
    await thought.getByText("A mark would do.").waitFor();
    await thought.getByRole("button", { name: "Less" }).waitFor();
    await page.getByRole("button", { name: "Last words" }).click();
    await page.getByText("Half of the retry is there.").waitFor();
  });

  it("follow a transcript that is being written, and tell who reads above how much came", async () => {
    const { page } = eye;
    await eye.go(`/runs/${live}/transcript`);
    await page.getByText(`until test -e ${go}`).first().waitFor();
    const list = page.getByRole("region", { name: "Transcript" });
    await list.hover();
    await page.mouse.wheel(0, -1_500);
    await page.waitForTimeout(300);
    const before = await list.evaluate((element) => element.scrollTop);
    writeFileSync(go, "");
    const fresh = page.getByRole("button", { name: /new ↓/u });
    await fresh.waitFor();
    expect(await list.evaluate((element) => element.scrollTop)).toBe(before);
    await fresh.click();
    await page.getByText("The very last words.").waitFor();
    await fresh.waitFor({ state: "detached" });
    // The button is gone, and whoever reads on by keyboard is in the transcript.
    expect(await list.evaluate((element) => element.matches(":focus"))).toBe(true);
  });

  it("compare two chosen states, name the owner of each file, and show a patch both ways", async () => {
    const { page } = eye;
    await eye.go(`/runs/${real}/changes?to=now`);
    const files = page.getByRole("navigation", { name: "Files that differ" });
    await files
      .getByRole("button", { name: /by-hand\.txt/u })
      .getByText("others")
      .waitFor();
    expect(
      await files
        .getByRole("button", { name: /picture\.bin/u })
        .getByText("binary")
        .count(),
    ).toBe(1);
    await files.getByRole("button", { name: /mark\.ts/u }).click();
    await page.getByRole("cell", { name: /export const mark = 2/u }).waitFor();
    expect(page.url()).toContain("path=src%2Fmark.ts");
    // What the list says of a file is not said again in git's words.
    expect(await page.getByText("file mode").count()).toBe(0);
    await files.getByRole("button", { name: /renamed.*moved\.txt/u }).click();
    await page.getByRole("heading", { name: "e.txt → moved.txt" }).waitFor();
    await page.getByText("Nothing in its text differs.").waitFor();
    await files.getByRole("button", { name: /mark\.ts/u }).click();
    await page.getByRole("cell", { name: /export const mark = 2/u }).waitFor();
    await page.getByRole("button", { name: "Side by side" }).click();
    expect(await page.getByRole("table").getByRole("row").first().getByRole("cell").count()).toBeGreaterThan(0);
    await page.getByLabel("From").selectOption("stop");
    await page.getByRole("button", { name: /mark\.ts/u }).waitFor({ state: "detached" });
    expect(await files.getByRole("listitem").count()).toBe(1);
  });

  it("show how the plan moved, the checkpoints, and what was used", async () => {
    const { page } = eye;
    await eye.go(`/runs/${real}/plan`);
    const item = page.getByRole("region", { name: "The plan over time" }).getByRole("row", { name: /Write the mark/u });
    await item.waitFor();
    expect(await item.getByRole("cell").allTextContents()).toEqual(["◐in progress", "✓completed"]);
    await eye.go(`/runs/${real}/checkpoints`);
    await page
      .getByRole("row", { name: /entry of a step/u })
      .getByText("base", { exact: true })
      .waitFor();
    await page.getByRole("row", { name: /^stop/u }).getByRole("link", { name: "from base" }).click();
    await page.getByRole("navigation", { name: "Files that differ" }).waitFor();
    await eye.go(`/runs/${real}/cost`);
    await page.getByText("$0.25").first().waitFor();
    await page.locator("canvas").first().waitFor();
    await page.getByText("As a table").first().click();
    expect(await page.getByRole("region", { name: "Iterations as a table" }).getByRole("row").count()).toBe(3);
    await eye.go(`/runs/${live}/checkpoints`);
    await page.getByRole("region", { name: "Checkpoints" }).waitFor();
  });

  it.each([
    { theme: "light", width: 1280 },
    { theme: "dark", width: 380 },
  ] as const)("are readable for everybody at $width px in the $theme", async ({ theme, width }) => {
    const look = await visit(serve, { theme, width });
    for (const [title, tab] of TABS) {
      await look.go(`/runs/${real}/${tab}`);
      await look.page.getByRole("heading", { level: 2, name: title, exact: true }).waitFor({ state: "attached" });
      await look.page
        .getByText(/^Reading /u)
        .first()
        .waitFor({ state: "detached" });
      await look.page.waitForTimeout(300);
      expect([tab, await axe(look.page), await overflow(look.page)]).toEqual([tab, [], 0]);
    }
    for (const [tab, region] of WIDE) {
      await look.go(`/runs/${huge.run_id}/${tab}`);
      await look.page.getByRole("region", { name: region, exact: true }).waitFor();
      expect([tab, await overflow(look.page)]).toEqual([tab, 0]);
    }
    // Its columns are in sight on a phone too, however long the names of its steps are.
    await look.go(`/runs/${huge.run_id}/timeline`);
    const iterations = look.page.getByRole("region", { name: "Iterations", exact: true });
    await iterations.getByRole("link", { name: "1", exact: true }).waitFor();
    expect(await iterations.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0);
    expect(look.complaints).toEqual([]);
    await look.context.close();
  });

  it("leave the browser nothing to complain about", () => {
    expect(existsSync(go)).toBe(true);
    expect(eye.complaints).toEqual([]);
  });
});
