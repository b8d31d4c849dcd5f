import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { type Door, newProduct } from "../support/product.ts";
import { aNewRun, aStop } from "../support/records.ts";
import { type Serve, startServe } from "../support/serve.ts";
import { axe, type Visit, visit } from "./support/browser.ts";

/** The ledger of many runs, on Postgres, in a real browser on a real server. */

/** More than one page of the ledger. */
const RUNS = 130;
const WAIT = { timeout: 60_000 };
const product = await newProduct("postgres");
let serve: Serve;
let store: Store;
let door: Door;
let eye: Visit;
const ids: string[] = [];

beforeAll(async () => {
  door = await product.connect();
  serve = await startServe(product.env);
  const url = product.env["LOOPKEEPER_DATABASE_URL"] ?? null;
  store = await openStore({ url, path: "", onError: () => {} });
  eye = await visit(serve, { height: 600 });
});
afterAll(async () => {
  await eye.context.close();
  await store.close();
  await door.close();
  serve.child.kill("SIGKILL");
});

const row = (page: Page, n: number) => page.getByRole("article", { name: `Task ${n} of many`, exact: true });
const topOf = async (page: Page, n: number): Promise<number | undefined> => (await row(page, n).boundingBox())?.y;

/** Stopped runs of two repositories; every tenth is stopped by its owner. */
async function addRun(n: number): Promise<void> {
  const reason = n % 10 === 0 ? "cancelled" : "max_iterations";
  const { run_id } = await store.createRun(
    aNewRun({
      owner: "local",
      objective: `Task ${n} of many`,
      repo_remote: null,
      repo_common_dir: n % 2 === 0 ? "/even/.git" : "/odd/.git",
      state: "stopped",
      stop_reason: reason,
      stop: aStop({ reason, source: n % 10 === 0 ? "owner" : "loop" }),
    }),
  );
  ids[n] = run_id;
}

describe("the ledger of many runs on Postgres", () => {
  it("is told from an empty one as soon as the first run is there", async () => {
    const { page } = eye;
    await eye.go("/");
    await page.getByRole("heading", { name: "No runs yet" }).waitFor();
    expect(await axe(page)).toEqual([]);
    await addRun(1);
    await row(page, 1).waitFor();
    for (let n = 2; n <= RUNS; n += 10)
      await Promise.all(Array.from({ length: Math.min(10, RUNS + 1 - n) }, (_, place) => addRun(n + place)));
    await row(page, RUNS - 1).waitFor();
    await page.getByRole("heading", { name: `needs you (${RUNS - RUNS / 10})` }).waitFor();
  });

  it("holds in the page what is in sight, and comes to the last run", async () => {
    const { page } = eye;
    await eye.go("/");
    await row(page, RUNS - 1).waitFor();
    expect(await page.getByRole("article").count()).toBeLessThan(60);
    while ((await row(page, 10).count()) === 0) {
      await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
      await page.getByRole("article").first().waitFor();
    }
    expect(await page.getByRole("article").count()).toBeLessThan(60);
  });

  it("is narrowed by repository, reason and state", async () => {
    const { page } = eye;
    await eye.go("/");
    await page.getByLabel("Repository").selectOption({ label: "even (65)" });
    await page.getByRole("heading", { name: "needs you (52)" }).waitFor();
    await page.getByLabel("Reason").selectOption("cancelled");
    await page.getByRole("heading", { name: "finished (13)" }).waitFor();
    expect(await page.getByRole("heading", { level: 2 }).count()).toBe(1);
    await page.getByLabel("State").selectOption("done");
    await page.getByText("No run fits").waitFor();
    expect(new URL(page.url()).search).toBe("?repo=%2Feven%2F.git&reason=cancelled&state=done");
  });

  it("keeps what is read where it is while other runs move above it", async () => {
    const { page } = eye;
    await eye.go("/");
    await row(page, RUNS - 1).waitFor();
    await page.evaluate("scrollTo(0, 1200)");
    await row(page, RUNS - 25).waitFor();
    const before = await topOf(page, RUNS - 25);
    for (const n of [3, 5, 7]) await door.call("run_grant_iterations", { run_id: ids[n], iterations: 2, continue: false });
    await expect.poll(() => page.evaluate("scrollY"), WAIT).toBeGreaterThan(1_200 + 3 * 40);
    expect(await topOf(page, RUNS - 25)).toBe(before);
    await page.evaluate("scrollTo(0, 0)");
    await row(page, 7).getByText("0/12").first().waitFor();
  });

  it("begins with the keys at what is in sight, below what stands over it, and says why a key does nothing", async () => {
    const { page } = eye;
    await eye.go("/");
    await row(page, RUNS - 1).waitFor();
    await page.evaluate("scrollTo(0, 1200)");
    await row(page, RUNS - 25).waitFor();
    await page.keyboard.press("j");
    const chosen = page.getByRole("article").filter({ has: page.locator("a:focus") });
    expect(await page.evaluate("scrollY")).toBeGreaterThan(1_100);
    for (let press = 0; press < 12; press += 1) await page.keyboard.press("k");
    await expect.poll(() => page.evaluate("scrollY"), WAIT).toBeLessThan(1_000);
    const head = await page.getByRole("banner").boundingBox();
    expect((await chosen.boundingBox())?.y).toBeGreaterThanOrEqual(head?.height ?? 0);
    await page.keyboard.press("s");
    await page.getByText(/^Stop: /u).waitFor();
    expect(eye.complaints).toEqual([]);
  });
});
