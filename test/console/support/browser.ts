import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll } from "vitest";
import { z } from "zod";
import { chrome } from "../../support/chrome.ts";

/** A real browser on the console of a real `loopkeeper serve`. */

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Where to go and with what: the part of a `Serve` that a browser needs. */
interface Served {
  readonly url: string;
  readonly token: string;
}

export interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the browser complained about: errors of scripts, and what the page's policy refused. */
  readonly complaints: readonly string[];
  go(path: string): Promise<void>;
}

let browser: Promise<Browser> | null = null;

function launched(): Promise<Browser> {
  browser ??= chrome().then((executablePath) =>
    chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] }),
  );
  return browser;
}

afterAll(async () => {
  await (await browser)?.close();
  browser = null;
});

/** A new profile that is signed in. */
export async function visit(
  serve: Served,
  look: { readonly width?: number; readonly height?: number; readonly theme?: "light" | "dark" } = {},
): Promise<Visit> {
  const context = await (await launched()).newContext({
    viewport: { width: look.width ?? 1280, height: look.height ?? 900 },
    colorScheme: look.theme ?? "light",
    reducedMotion: "reduce",
  });
  await context.request.post(`${serve.url}/api/session`, { data: { token: serve.token } });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  return {
    context,
    page,
    complaints,
    go: async (path) => {
      await page.goto(`${serve.url}${path}`);
    },
  };
}

const violationsSchema = z.object({
  violations: z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) })),
});

/** What axe finds on the page as it is: rule and element, one line each. */
export async function axe(page: Page): Promise<string[]> {
  // Evaluated in the page's world by the debugger: no script tag, which the policy would refuse.
  await page.evaluate(AXE);
  const found = violationsSchema.parse(await page.evaluate("axe.run()"));
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}

/** Pixels by which the page is wider than its window. */
export function overflow(page: Page): Promise<unknown> {
  return page.evaluate("document.documentElement.scrollWidth - innerWidth");
}
