import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type Door, fileAppears, newProduct } from "../support/product.ts";
import { AS_COMMAND, atTerminal, obeyed, widest } from "./support/pty.ts";

const product = await newProduct();
const repo = product.box.repo("work");
// Clipboard, cursor, title, an 8-bit sequence and a change of direction, as an agent or a file could write them.
const HOSTILE = "\u001b]52;c;aGFja2Vk\u0007\u001b[2J\u001b[1A\u001b]0;owned\u0007\u009b31m\u202eevil";
const go = join(product.box.dir, "go");
let door: Door;
let run: string;
let live: string;

const at = (columns: number, more: Record<string, string> = {}) => ({
  cwd: repo,
  columns,
  env: { ...product.env, PAGER: "cat", ...more },
});

/** The same shell line with pipes instead of a terminal. */
function inPipes(line: string): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    const options = { cwd: repo, env: { ...product.env, TERM: "xterm" } };
    execFile("bash", ["-c", `${AS_COMMAND}; ${line}`], options, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

beforeAll(async () => {
  const half = [
    { plan: [[`write 日本語 ${HOSTILE}`, "in_progress"]] },
    { edit: { path: "src/half.ts", content: `one\ntwo ${HOSTILE}\n` } },
    { say: `half way ${HOSTILE}` },
    { report: { completed: [`read ${HOSTILE}`], midway: "src/half.ts", intended: ["the other half"] } },
  ];
  product.agent("half", [half, [{ report: { completed: ["all"], intended: [], verdict: "done" } }]]);
  product.agent("slow", [
    [{ run: `until [ -e ${go} ]; do sleep 0.1; done` }, { report: { completed: ["all"], intended: [], verdict: "done" } }],
  ]);
  door = await product.connect();
  const objective = "Make 日本 pass 🎉 with an objective that is far too long to stand in a table of eighty columns";
  ({ run_id: run } = await door.start({ repo, objective, agent: "half", max_iterations: 1, verify: ["test -e nowhere"] }));
  await door.ended(run);
  ({ run_id: live } = await door.start({ repo: product.box.repo("other"), objective: "wait", agent: "slow", max_iterations: 3 }));
});

describe("at a terminal", () => {
  it("fits tables and pages to the columns, wide characters counted as two", async () => {
    for (const columns of [80, 40]) {
      const [list, status] = await Promise.all([
        atTerminal("loopkeeper list", at(columns)).ended,
        atTerminal("loopkeeper status @last", at(columns)).ended,
      ]);
      expect(list.code).toBe(0);
      expect(list.text).toContain("\u001b[33m");
      expect(list.lines.join("\n")).toMatch(/stopped ?· ?max_iter/u);
      expect(widest(list.lines)).toBeLessThanOrEqual(columns);
      // Lines that are to be copied are never broken.
      const prose = status.lines.filter((line) => !/^..loopkeeper /u.test(line));
      expect(widest(prose)).toBeLessThanOrEqual(columns);
    }
  });

  it("writes no colour with NO_COLOR or where it is no terminal", async () => {
    const plain = await atTerminal("loopkeeper explain", at(80, { NO_COLOR: "1" })).ended;
    expect(plain.text).not.toContain("\u001b");
    const piped = await inPipes("loopkeeper explain");
    expect(piped.out).not.toContain("\u001b");
    expect(piped.out).toContain("far too long to stand in a table of eighty columns");
  });

  it("obeys nothing that an agent or a file wrote", async () => {
    const lines = ["explain", "status", "transcript --full", "diff --no-pager", "list", "explain --json", "transcript --json"];
    const shown = await Promise.all(lines.map((line) => atTerminal(`loopkeeper ${line}`, at(80)).ended));
    for (const { code, text } of shown) {
      expect(code).toBe(0);
      expect(obeyed(text)).toEqual([]);
    }
    expect(shown[3]?.text).toContain("\\u{202e}evil");
  });

  it("explains a stop: the cause first, who says what, what is at stake, and last what to type", async () => {
    const { lines } = await atTerminal("loopkeeper explain", at(100)).ended;
    const text = lines.join("\n");
    const order = [/^It used all 1 iterations/mu, /Completed/u, /Mid-way/u, /Still intended/u, /At stake/u, /Do next:/u];
    expect(order.map((part) => text.search(part))).toEqual(order.map((part) => text.search(part)).toSorted((a, b) => a - b));
    expect(text).toMatch(/\* 1 uncommitted file/u);
    expect(text).toMatch(/- agent says: "the other half"/u);
    expect(text).toContain(`> loopkeeper resume ${run.slice(4, 12)} --add-iterations 10`);
  });

  it("asks before it takes files back, and does nothing on another answer", async () => {
    const asked = atTerminal(`loopkeeper reset ${run.slice(4, 9)}`, at(80));
    await asked.shows('Type "reset"');
    asked.type("y\n");
    const refused = await asked.ended;
    expect([refused.code, refused.text.includes("Nothing was changed.")]).toEqual([3, true]);
    expect(readFileSync(join(product.home, "workspaces", run.slice(4, 12), "src/half.ts"), "utf8")).toContain("one");
  });

  it("tells a person what is missing as the flag to type, and a program as the argument", async () => {
    const refused = await inPipes(`loopkeeper resume ${run.slice(4, 12)}`);
    expect([refused.code, refused.err.trim()]).toEqual([
      2,
      `not_allowed: run ${run} stopped; no iterations are left: give \`--add-iterations 10\`, or grant first with \`loopkeeper grant\`.`,
    ]);
    const program = await inPipes(`loopkeeper resume ${run.slice(4, 12)} --json`);
    expect(program.err).toContain("needs_iterations: ");
    expect(program.err).toContain("give `add_iterations`, or grant first with run_grant_iterations");
    const explained = await inPipes("loopkeeper explain");
    expect(explained.out).toContain("give `--add-iterations 10`");
    expect(explained.out).not.toMatch(/\b(add_iterations|run_resume|run_reset|coding_loop_start|on_drift)\b/u);
    const list = await inPipes("loopkeeper list");
    expect(list.out).toContain("more iterations");
  });

  it("shows what a reclaim frees and why it would not, asks, and frees exactly that", async () => {
    product.agent("frees", [
      [{ edit: { path: "n", content: "n\n" } }, { report: { completed: ["n"], intended: [], verdict: "done" } }],
    ]);
    const own = product.box.repo("frees");
    const started = await door.start({ repo: own, objective: "Free it", agent: "frees" });
    const { run_id, workspace, repository } = await door.ended(started.run_id);
    const place = { ...at(80), cwd: own };
    const line = `loopkeeper archive ${run_id.slice(4, 12)} --reclaim`;
    const stays = atTerminal(line, place);
    await stays.shows('Type "archive" to archive it without freeing anything');
    expect(stays.text()).toMatch(/What happens.*Why it stays.*not committed: n/su);
    expect(stays.text()).not.toContain("What it cannot undo");
    stays.type("no\n");
    expect((await stays.ended).code).toBe(3);
    expect((await door.call("run_status", { run_id })).run?.["archived_at"]).toBeNull();

    product.box.sh(workspace.path, "git add -A && git commit -qm 'Add n'");
    product.box.git(own, "merge", "-q", repository.branch ?? "");
    const asked = atTerminal(line, place);
    await asked.shows('Type "archive" to do it');
    expect(asked.text().replaceAll(/\s+/gu, " ")).toMatch(
      /What happens.*of this disk are freed.*Goes: worktree .*What it cannot undo.*does not come back/u,
    );
    // It moves while the person reads: what is shown now is what it has become.
    await door.call("run_archive", { run_id });
    asked.type("archive\n");
    await asked.shows("The run moved meanwhile");
    await asked.shows(/stays archived[\s\S]*Type "archive" to do it/u);
    expect(existsSync(workspace.path)).toBe(true);
    asked.type("archive\n");
    const done = await asked.ended;
    expect([done.code, existsSync(workspace.path)]).toEqual([0, false]);
    expect(done.text).toMatch(/Freed/u);

    // Where nobody can be asked, and with --yes, it does what the tool does.
    const piped = await inPipes(line);
    expect([piped.code, piped.out.includes("What happens")]).toEqual([0, false]);
    const yes = await atTerminal(`${line} --yes`, place).ended;
    expect([yes.code, yes.text.replaceAll(/\s+/gu, " ").includes("nothing is left to free")]).toEqual([0, true]);
  });

  it("waits with a live line, and gives the cursor back at Ctrl-C without stopping the run", async () => {
    const waiting = atTerminal(`loopkeeper wait ${live}`, at(60));
    await waiting.shows(/running \[-+\] 0\/3/u);
    await waiting.shows("until [");
    waiting.type("\u0003");
    const { code, text } = await waiting.ended;
    expect(code).toBe(130);
    expect(text.lastIndexOf("\u001b[?25h")).toBeGreaterThan(text.lastIndexOf("\u001b[?25l"));
    expect((await door.call("run_status", { run_id: live })).run?.state).toBe("running");
  });
});

describe("in pipes", () => {
  it("previews with the token and the exact line, which then does it", async () => {
    const preview = await inPipes(`loopkeeper reset ${run}`);
    expect(preview.code).toBe(3);
    for (const title of ["What happens", "What it undoes"]) expect(preview.out).toContain(title);
    const [line = ""] = /^ {2}loopkeeper reset .*--confirm-token \S+$/mu.exec(preview.out) ?? [];
    const done = await inPipes(line.trim());
    expect([done.code, done.out]).toEqual([0, expect.stringContaining("To undo this:")]);
    const [undo = ""] = /^ {2}loopkeeper reset .* --to \S+$/mu.exec(done.out) ?? [];
    const again = await inPipes(`${line.trim()}`);
    expect([again.code, again.out]).toEqual([3, expect.stringContaining("something changed since")]);
    const undone = await inPipes(`${undo.trim()} --yes`);
    expect([undone.code, undone.out]).toEqual([0, expect.stringMatching(/What happens[\s\S]*Restored/u)]);
  });

  it("goes on with the line that explain recommends, copied as it stands", async () => {
    const { out } = await inPipes("loopkeeper explain");
    const [, line = ""] = /^> (loopkeeper .*)$/mu.exec(out) ?? [];
    const resumed = await inPipes(line);
    expect(resumed).toMatchObject({ code: 0, err: "" });
    const waited = await inPipes(`loopkeeper wait ${run}`);
    expect(waited.code).toBe(0);
    expect(waited.out).not.toContain("\u001b");
  });

  it("waits with plain lines on stderr and the answer alone on stdout", async () => {
    const waiting = inPipes(`loopkeeper wait ${live} --json`);
    await door.call("run_wait", { run_id: live, timeout_s: 1 });
    await inPipes(`touch ${go}`);
    await fileAppears(go);
    const { code, out, err } = await waiting;
    expect([code, JSON.parse(out).run.state]).toEqual([0, "done"]);
    expect(err).not.toContain("\u001b");
  });
});
