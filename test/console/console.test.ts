import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { TOOLS } from "../../src/tools/index.ts";
import { type Door, newProduct, type RunView } from "../support/product.ts";
import { write } from "../support/repos.ts";
import { type Serve, startServe } from "../support/serve.ts";
import { axe, overflow, type Visit, visit } from "./support/browser.ts";

/** The console as a person uses it: a real browser on a real server, real runs of the scripted agent. */

const product = await newProduct();
let serve: Serve;
let door: Door;
const visits: Visit[] = [];

beforeAll(async () => {
  product.configure({ max_live_runs: 12 });
  [serve, door] = await Promise.all([startServe(product.env), product.connect()]);
});
// A page that stays open draws every change of the tests that follow.
afterEach(async () => {
  for (const { context } of visits.splice(0)) await context.close();
});
afterAll(async () => {
  await door.close();
  serve.child.kill("SIGKILL");
});

/** Names of tools and of their arguments, as agents call them; a stop reason is a word for people too. */
const CALLED = [...new Set(TOOLS.flatMap((tool) => [tool.name, ...Object.keys(tool.input.shape)]))].filter(
  (name) => name.includes("_") && name !== "max_iterations",
);

const edit = (path: string, content = `${path}\n`.repeat(5)) => ({ edit: { path, content } });
const report = (midway: string) => ({ report: { completed: ["the first part"], midway, intended: ["the rest"] } });
const LONG = { run: { command: "sleep 300", title: "npm test" } };

/** One iteration of work, then a turn that lasts. */
async function stoppedRun(name: string, args: Readonly<Record<string, unknown>> = {}): Promise<RunView> {
  product.agent(name, [[edit("a.txt"), edit("made.txt"), { commit: "Begin" }, edit("b.txt"), report(`half of ${name}`)], [LONG]]);
  const run = await door.start({
    repo: product.box.repo(name),
    objective: `Finish ${name}`,
    agent: name,
    brief: "none",
    max_iterations: 1,
    ...args,
  });
  return door.ended(run.run_id);
}

async function open(path: string, look: Parameters<typeof visit>[1] = {}): Promise<Visit> {
  const one = await visit(serve, look);
  visits.push(one);
  await one.go(path);
  return one;
}

const button = (page: Page, name: string | RegExp) =>
  page.getByRole("button", { name, ...(typeof name === "string" ? { exact: true } : {}) });
const head = (page: Page) => page.locator("main > header");
const row = (page: Page, objective: string) => page.getByRole("article", { name: objective });
const isFocused = (of: Locator): Promise<boolean> => of.evaluate((element) => element.matches(":focus"));
/** One word of it is wider than a phone. */
const WIDE_COMMAND = `touch ${"folder/".repeat(12)}file.txt && echo done`;
const dialog = (page: Page) => page.getByRole("dialog");

describe("a run's page", () => {
  it("offers Resume and not Stop on a stopped run, resumes it, shows it running with Stop and without Resume, and stops it again", async () => {
    const run = await stoppedRun("resumed");
    const { page } = await open(`/runs/${run.run_id}`);
    await head(page).getByText("max_iterations").waitFor();
    await page.getByText("half of resumed").first().waitFor();
    expect(await button(page, "Stop").count()).toBe(0);
    await head(page).getByRole("button", { name: "Resume" }).click();
    await dialog(page).getByLabel("Instructions").fill("Go on with the rest.");
    await button(page, "Read the note first").click();
    await dialog(page).getByText("Go on with the rest.").last().waitFor();
    await dialog(page).getByRole("button", { name: "Resume", exact: true }).click();
    await head(page).getByText("running").waitFor();
    await head(page).getByRole("button", { name: "Stop" }).waitFor();
    expect(await head(page).getByRole("button", { name: "Resume" }).count()).toBe(0);
    await button(page, "More actions").first().click();
    // What is not allowed stands in the menu with its reason.
    await page.getByRole("menuitem", { name: /^Resume.*is running/u }).waitFor();
    await page.keyboard.press("Escape");

    const ledger = await open("/");
    await row(ledger.page, "Finish resumed").getByText("npm test").waitFor();
    await head(page).getByRole("button", { name: "Stop" }).click();
    await dialog(page).getByLabel("Why").fill("lunch");
    await dialog(page).getByRole("button", { name: "Stop now" }).click();
    await head(page).getByText("cancelled").waitFor();
    await row(ledger.page, "Finish resumed").getByText("cancelled").waitFor();
  });

  it("speaks of fields and buttons, never of arguments, and has the line that starts a new run ready to be copied", async () => {
    const run = await stoppedRun("spoken");
    const { page, context } = await open(`/runs/${run.run_id}`);
    await page.getByText("Keeps its context and its files; needs more iterations").waitFor();
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await button(page, /^loopkeeper start/u).click();
    await page.getByText("Copied the command line.").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
      `loopkeeper start 'Finish spoken' --repo ${run.repository["path"]} --agent spoken`,
    );
    await button(page, "More actions").first().click();
    await page.getByRole("menuitem", { name: /^Stop.*already stopped/u }).waitFor();
    const text = (await page.locator("body").textContent()) ?? "";
    expect(text).toContain("Start a new run");
    expect(CALLED.filter((name) => text.includes(name))).toEqual([]);

    // What a call of the page is refused with is said in the page's words, to a program in its own.
    const refused = async (headers: Readonly<Record<string, string>>) =>
      (await serve.post(`/api/runs/${run.run_id}/resume`, {}, headers)).body;
    expect(await refused({ "x-loopkeeper": "console" })).toMatchObject({
      refusal: "needs_iterations",
      detail: "no iterations are left: it needs more iterations.",
    });
    expect(await refused({})).toMatchObject({
      refusal: "needs_iterations",
      detail: expect.stringContaining("give `add_iterations`, or grant first with run_grant_iterations."),
    });
  });

  it("answers a permission with exactly the command shown", async () => {
    product.agent("asked", [[{ run: { command: "touch allowed.txt", ask: true } }, report("it")], [{ hang: true }]]);
    const started = await door.start({
      repo: product.box.repo("asked"),
      objective: "Ask",
      agent: "asked",
      permissions: "edits",
      max_iterations: 3,
    });
    const run = await door.ended(started.run_id);
    const { page } = await open("/");
    await row(page, "Ask").getByText("touch allowed.txt").waitFor();
    await row(page, "Ask").getByRole("button", { name: "Answer" }).click();
    expect(await dialog(page).getByRole("button", { name: "Answer and resume" }).isDisabled()).toBe(true);
    await dialog(page).getByLabel("Allow it once").check();
    await dialog(page).getByRole("button", { name: "Answer and resume" }).click();
    await row(page, "Ask").getByRole("button", { name: "Stop" }).waitFor();
    expect((await door.call("run_status", { run_id: run.run_id })).run?.state).toMatch(/running|queued/u);
    await door.call("run_stop", { run_id: run.run_id });
  });
});

describe("what is done twice or meanwhile", () => {
  it("grants once when the button is clicked twice, and once when the answer is lost and it is sent again", async () => {
    const run = await stoppedRun("granted");
    const { page } = await open("/");
    let lost = 0;
    await page.route("**/grant", async (route) => {
      const response = await route.fetch();
      if (lost > 0) return route.fulfill({ response });
      lost += 1;
      return route.abort();
    });
    await row(page, "Finish granted").getByRole("button", { name: "Grant" }).click();
    await dialog(page).getByLabel("Iterations to add").fill("7");
    await dialog(page).getByLabel("Go on at once").uncheck();
    await dialog(page).getByRole("button", { name: "Grant 7" }).dblclick();
    await dialog(page).getByRole("alert").getByText("cannot be reached").waitFor();
    await dialog(page).getByRole("button", { name: "Grant 7" }).click();
    await dialog(page).waitFor({ state: "detached" });
    expect((await door.call("run_status", { run_id: run.run_id })).run?.max_iterations).toBe(8);
    await row(page, "Finish granted").getByText("1/8").first().waitFor();
  });

  it("says that the run moved, keeps what was typed, and sends it when it was looked at again", async () => {
    const run = await stoppedRun("moved");
    const first = await open(`/runs/${run.run_id}`);
    await head(first.page).getByRole("button", { name: "Resume" }).click();
    await dialog(first.page).getByLabel("Instructions").fill("Only the tests.");
    const second = await open(`/runs/${run.run_id}`);
    await head(second.page).getByRole("button", { name: "Grant" }).click();
    await dialog(second.page).getByLabel("Go on at once").uncheck();
    await dialog(second.page).getByRole("button", { name: "Grant 10" }).click();
    await dialog(second.page).waitFor({ state: "detached" });
    await head(first.page).getByText("1 of 11 iterations").waitFor();
    await dialog(first.page).getByRole("button", { name: "Resume", exact: true }).click();
    await dialog(first.page).getByText("The run moved since you looked").waitFor();
    expect(await dialog(first.page).getByLabel("Instructions").inputValue()).toBe("Only the tests.");
    await dialog(first.page).getByRole("button", { name: "Resume", exact: true }).click();
    await head(first.page).getByText("running").waitFor();
    await head(second.page).getByText("running").waitFor();
    await door.call("run_stop", { run_id: run.run_id });
  });

  it("goes on after a restart of the server with what changed meanwhile, and asks for the token when there is another one", async () => {
    const run = await stoppedRun("restarted");
    const own = await startServe(product.env);
    const one = await visit(own);
    visits.push(one);
    const { page } = one;
    await one.go(`/runs/${run.run_id}`);
    await page.getByText("live", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Checkpoints" }).waitFor();
    own.child.kill("SIGKILL");
    await own.exit();
    await page.getByText(/^(reconnecting|offline)$/u).waitFor();
    await page.getByRole("link", { name: "Checkpoints" }).click();
    await page.getByText("This part of the page could not be shown").waitFor();
    await door.call("run_grant_iterations", { run_id: run.run_id, iterations: 4, continue: false });
    const again = await startServe(product.env, ["--port", String(own.port)]);
    await page.getByText("live", { exact: true }).waitFor();
    await head(page).getByText("1 of 5 iterations").waitFor();
    await page.getByText(/^\d+ checkpoints, newest first/u).waitFor();
    again.child.kill("SIGKILL");
    await again.exit();
    const token = "another-token-of-the-owner-0123456789";
    const other = await startServe({ ...product.env, LOOPKEEPER_TOKEN: token }, ["--port", String(own.port)]);
    await page.getByRole("heading", { name: "Signed out" }).waitFor();
    await page.getByLabel("Token").fill(token);
    await button(page, "Sign in").click();
    await head(page).getByText("1 of 5 iterations").waitFor();
    other.child.kill("SIGKILL");
    await other.exit();
  });
});

describe("consequences", () => {
  it("names conflicts before a reset, looks again with one overwritten, looks again when something changed, and resets", async () => {
    const run = await stoppedRun("reset");
    const tree = run.workspace.path;
    writeFileSync(join(tree, "a.txt"), "Bob was here\n");
    writeFileSync(join(tree, "b.txt"), "and here\n");
    const { page } = await open(`/runs/${run.run_id}`);
    await page.getByRole("button", { name: "Reset to the start", exact: true }).click();
    await dialog(page).getByText("What it undoes").waitFor();
    const box = dialog(page).getByLabel(/^a\.txt/u);
    await dialog(page)
      .getByLabel(/^b\.txt/u)
      .waitFor();
    await box.check();
    await dialog(page).getByRole("button", { name: "Look again with 1 overwritten" }).click();
    await dialog(page).getByText("will be overwritten").waitFor();
    appendFileSync(join(tree, "b.txt"), "once more\n");
    await dialog(page).getByRole("button", { name: "Reset to the start" }).click();
    await dialog(page).getByText("Something changed since it was looked up").waitFor();
    expect(readFileSync(join(tree, "a.txt"), "utf8")).toBe("Bob was here\n");
    await dialog(page).getByRole("button", { name: "Reset to the start" }).click();
    await dialog(page).getByRole("heading", { name: "Reset to the start: done" }).waitFor();
    expect(readFileSync(join(tree, "a.txt"), "utf8")).toBe("a\n".repeat(20));
    expect(readFileSync(join(tree, "b.txt"), "utf8")).toBe("and here\nonce more\n");
    expect(existsSync(join(tree, "made.txt"))).toBe(false);
    await button(page, "Close").first().click();
    // The way back is offered at once.
    await page.getByRole("button", { name: "Bring the work back" }).click();
    await dialog(page).getByText("What happens").waitFor();
  });

  it("redoes a stopped run by a button that says so", async () => {
    const run = await stoppedRun("redone", { max_iterations: 1 });
    const { page } = await open(`/runs/${run.run_id}`);
    await page.getByRole("button", { name: "Do it again from the start" }).click();
    await dialog(page).getByLabel("Iterations to add").fill("2");
    await dialog(page).getByRole("button", { name: "Look again" }).click();
    await dialog(page).getByText("What happens").waitFor();
    await dialog(page).getByRole("button", { name: "Resume and redo" }).click();
    await dialog(page).getByRole("heading", { name: "Redo from the start: done" }).waitFor();
    expect((await door.call("run_status", { run_id: run.run_id })).run?.steps[0]?.attempt).toBe(2);
    await door.call("run_stop", { run_id: run.run_id });
  });

  it("redoes a run whose budget is spent once a higher one is given in the field beside the reason", async () => {
    product.agent("spent", [[{ usage: { input: 900, output: 200 } }, report("it")], [LONG]]);
    const started = await door.start({
      repo: product.box.repo("spent"),
      objective: "Spend",
      agent: "spent",
      brief: "none",
      max_iterations: 5,
      budget: { tokens: 1_000 },
    });
    const run = await door.ended(started.run_id);
    const { page } = await open(`/runs/${run.run_id}`);
    await page.getByRole("button", { name: "Do it again from the start" }).click();
    await dialog(page).getByRole("alert").getByText("it needs a higher budget").waitFor();
    await dialog(page)
      .getByLabel(/tokens/u)
      .fill("9000");
    await dialog(page).getByRole("button", { name: "Look again" }).click();
    await dialog(page).getByText("What happens").waitFor();
    await dialog(page).getByRole("button", { name: "Resume and redo" }).click();
    await dialog(page).getByRole("heading", { name: "Redo from the start: done" }).waitFor();
    expect((await door.call("run_status", { run_id: run.run_id })).run?.["budget"]).toEqual({ tokens: 9_000 });
    await door.call("run_stop", { run_id: run.run_id });
  });

  it("says by name why a workspace stays and offers plain archiving; later it shows what goes, looks again when the run moved, and frees it", async () => {
    const run = await stoppedRun("put-away");
    const { page, complaints } = await open(`/runs/${run.run_id}`);
    await button(page, "More actions").first().click();
    await page.getByRole("menuitem", { name: /^Archive/u }).click();
    await button(page, "Free its workspace too…").click();
    await dialog(page).getByText("Why it stays").waitFor();
    await dialog(page)
      .getByText(/not committed: b\.txt/u)
      .waitFor();
    await dialog(page)
      .getByText(/neither pushed nor merged.*Begin/u)
      .waitFor();
    expect(await dialog(page).getByText("What it cannot undo").count()).toBe(0);
    expect(await axe(page)).toEqual([]);
    await button(page, "Only archive it").click();
    await head(page).getByText("archived", { exact: true }).first().waitFor();
    expect(existsSync(run.workspace.path)).toBe(true);

    const { path } = run.workspace;
    product.box.sh(path, "git add -A && git commit -qm 'The rest'");
    product.box.git(join(product.box.dir, "put-away"), "merge", "-q", run.repository.branch ?? "");
    await button(page, "More actions").first().click();
    await page.getByRole("menuitem", { name: /^Free its workspace/u }).click();
    await dialog(page).getByText("What happens").waitFor();
    await dialog(page).getByText(`Goes: worktree ${path}`).waitFor();
    await dialog(page).getByText("What it cannot undo").waitFor();
    expect(await dialog(page).getByText("What it undoes").count()).toBe(0);
    await button(page, /^how/u).click();
    await dialog(page).getByText("never by force").waitFor();
    expect(await axe(page)).toEqual([]);
    // Somebody brings it back meanwhile: the page says so, and shows that it would be archived too.
    await door.call("run_archive", { run_id: run.run_id, archived: false });
    await button(page, /^Free [\d.]+ [KM]?B$/u).click();
    await dialog(page).getByRole("alert").getByText("The run moved since you looked").waitFor();
    expect(existsSync(path)).toBe(true);
    await button(page, /^Archive and free [\d.]+ [KM]?B$/u).click();
    await dialog(page).getByRole("heading", { name: "Free its workspace: done" }).waitFor();
    await dialog(page).getByText(`worktree ${path}`).waitFor();
    expect(existsSync(path)).toBe(false);
    await button(page, "Close").first().click();
    await button(page, "More actions").first().click();
    await page.getByRole("menuitem", { name: /^Free its workspace.*nothing is left to free/u }).waitFor();
    expect(complaints.filter((line) => !line.includes("412"))).toEqual([]);
  });
});

describe("the ledger", () => {
  it("is narrowed by its address, moved through by keys, and opens what was chosen", async () => {
    await stoppedRun("first");
    await stoppedRun("second");
    const { page } = await open("/?search=finish+second");
    await row(page, "Finish second").waitFor();
    expect(await page.getByRole("article").count()).toBe(1);
    await page.keyboard.press("j");
    await page.keyboard.press("g");
    await dialog(page).getByText("Grant iterations").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await dialog(page).getByText("next, previous run").waitFor();
    await page.keyboard.press("Escape");
    await row(page, "Finish second").getByRole("link").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Finish second", level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole("searchbox").fill("nothing has these words");
    await page.getByText("No run fits").waitFor();
    expect(new URL(page.url()).search).toBe("?search=nothing+has+these+words");
    await button(page, "Clear the filters").click();
    await row(page, "Finish first").waitFor();
  });
});

describe("the way in", () => {
  it("takes the token out of the address, keeps no wrong one, and lets nobody in without", async () => {
    const one = await open("/");
    await one.context.clearCookies();
    const page = await one.context.newPage();
    await page.goto(`${serve.url}/?search=x#token=${serve.token}`);
    await page.getByText("live", { exact: true }).waitFor();
    expect(page.url()).toBe(`${serve.url}/?search=x`);
    await one.context.clearCookies();
    await page.goto(`${serve.url}/`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.goto(`${serve.url}/#token=wrong`);
    await page.getByRole("heading", { name: "The token is not this server's" }).waitFor();
  });
});

describe("every dialog", () => {
  it("begins at its first field, has nothing that axe finds, fits a phone, and gives the focus back", async () => {
    const stopped = await stoppedRun("spoken-of");
    product.agent("asking", [[{ run: { command: WIDE_COMMAND, ask: true } }]]);
    const asking = await door.start({
      repo: product.box.repo("asking"),
      objective: "Ask for much",
      agent: "asking",
      permissions: "edits",
    });
    product.agent("going", [[LONG]]);
    const live = await door.start({ repo: product.box.repo("going"), objective: "Go on", agent: "going" });
    await door.ended(asking.run_id);
    const one = await open("/", { theme: "dark", width: 380 });
    const { page } = one;
    for (const [run_id, name, first] of [
      [stopped.run_id, "Resume", "Instructions"],
      [stopped.run_id, "Grant", "Iterations to add"],
      [asking.run_id, "Answer", "Allow it once"],
      [live.run_id, "Stop", "Now"],
      [live.run_id, "Instruct", "Instructions"],
    ] as const) {
      await one.go(`/runs/${run_id}`);
      const opener = head(page).getByRole("button", { name, exact: true });
      await opener.click();
      await dialog(page).getByLabel(first).waitFor();
      expect([name, await isFocused(dialog(page).getByLabel(first))]).toEqual([name, true]);
      expect([name, await axe(page), await overflow(page)]).toEqual([name, [], 0]);
      await page.keyboard.press("Escape");
      await dialog(page).waitFor({ state: "detached" });
      expect([name, await isFocused(opener)]).toEqual([name, true]);
    }
    await page.keyboard.press("?");
    await dialog(page).getByText("next, previous run").waitFor();
    expect(await axe(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await one.go(`/runs/${asking.run_id}`);
    await page.getByText("It asks to be allowed this").waitFor();
    // Whole, and once: it is what is allowed or not.
    expect(await page.locator("figure").getByText(WIDE_COMMAND).count()).toBe(1);
    await page.keyboard.press("s");
    await page.getByText(/^Stop: /u).waitFor();
    await door.call("run_stop", { run_id: live.run_id });
  });
});

describe("every screen", () => {
  it("has nothing that axe finds, is not wider than a phone, and asks no other host; the browser complains of nothing", async () => {
    const run = await stoppedRun("looked-at");
    write(run.workspace.path, "a.txt", "changed by a person\n");
    const strangers: string[] = [];
    const screens = [
      { theme: "light", width: 1280 },
      { theme: "dark", width: 1280 },
      { theme: "light", width: 380 },
      { theme: "dark", width: 380 },
    ] as const;
    const lookAt = async (look: (typeof screens)[number]): Promise<void> => {
      const one = await open("/", look);
      const { page, complaints } = one;
      page.on("request", (request) => {
        if (!request.url().startsWith(serve.url)) strangers.push(request.url());
      });
      const found = async (what: string): Promise<string[]> => {
        const wider = await overflow(page);
        return [
          ...(await axe(page)).map((line) => `${what}: ${line}`),
          ...(wider === 0 ? [] : [`${what}: wider by ${String(wider)}`]),
        ];
      };
      await row(page, "Finish looked-at").waitFor();
      const faults = await found("ledger");
      await row(page, "Finish looked-at").getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menu").waitFor();
      faults.push(...(await found("menu")));
      await page.keyboard.press("Escape");
      await one.go(`/runs/${run.run_id}`);
      await page.getByText("Still intended").waitFor();
      faults.push(...(await found("run")));
      await head(page).getByRole("button", { name: "Resume" }).click();
      await dialog(page).getByText("Since the stop").waitFor();
      faults.push(...(await found("resume")));
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Reset to the start", exact: true }).click();
      await dialog(page).getByText("Conflicts").waitFor();
      faults.push(...(await found("consequences")));
      await page.keyboard.press("Escape");
      await one.context.clearCookies();
      await page.reload();
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      faults.push(...(await found("sign-in")));
      expect(faults, JSON.stringify(look)).toEqual([]);
      // Without a session the server says 401, which the browser counts among the errors.
      expect(complaints.filter((line) => !line.includes("401"))).toEqual([]);
    };
    await Promise.all(screens.map(lookAt));
    expect(strangers).toEqual([]);
  });
});
