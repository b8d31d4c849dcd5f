import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { chrome } from "../../test/support/chrome.ts";
import { makeStage, type Stage, serve } from "./runs.ts";

/** `npm run screenshots`: the README's pictures, of a real browser on a real server with real runs. */

const OUT = join(import.meta.dirname, "../../docs/screenshots");

interface Picture {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly theme: "light" | "dark";
  path(stage: Stage): string;
  /** What is done before the picture is taken. */
  prepare(page: Page): Promise<unknown>;
}

const run = (name: string) => (stage: Stage) => `/runs/${stage.runs[name] ?? ""}`;
const ledger = { path: () => "/", prepare: (page: Page) => page.getByText("npm test").waitFor() };
const stopped = { path: run("ceiling"), prepare: (page: Page) => page.getByText("Since then").waitFor() };

const PICTURES: readonly Picture[] = [
  { name: "ledger-light", width: 1280, height: 640, theme: "light", ...ledger },
  { name: "ledger-dark", width: 1280, height: 640, theme: "dark", ...ledger },
  { name: "run-light", width: 1280, height: 1000, theme: "light", ...stopped },
  {
    name: "consequences-dark",
    width: 1280,
    height: 860,
    theme: "dark",
    path: run("ceiling"),
    prepare: async (page) => {
      await page.getByRole("button", { name: "Reset to the start", exact: true }).click();
      await page.getByText("What it undoes").waitFor();
    },
  },
  {
    name: "phone-light",
    width: 380,
    height: 780,
    theme: "light",
    path: run("question"),
    prepare: (page) => page.getByText("Since then").waitFor(),
  },
];

const stage = await makeStage();
const served = await serve(stage.env);
const browser = await chromium.launch({ executablePath: await chrome(), args: ["--no-sandbox"] });
mkdirSync(OUT, { recursive: true });
for (const picture of PICTURES) await take(browser, picture);
await browser.close();
await endRuns();
served.stop();
rmSync(stage.folder, { recursive: true, force: true });

async function take(from: Browser, picture: Picture): Promise<void> {
  const context = await from.newContext({
    viewport: { width: picture.width, height: picture.height },
    colorScheme: picture.theme,
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${served.url}${picture.path(stage)}${new URL(served.login).hash}`);
  await page.getByText("live", { exact: true }).waitFor();
  await picture.prepare(page);
  const path = join(OUT, `${picture.name}.png`);
  writeFileSync(path, await page.screenshot());
  process.stdout.write(`${path} ${Math.round(statSync(path).size / 1_000)} kB\n`);
  await context.close();
}

/** What still runs is stopped, as anybody would do it. */
async function endRuns(): Promise<void> {
  const token = new URLSearchParams(new URL(served.login).hash.slice(1)).get("token") ?? "";
  await fetch(`${served.url}/api/runs/${stage.runs["running"] ?? ""}/stop`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: "{}",
  });
}
