import { execFile, execFileSync } from "node:child_process";
import { beforeAll, describe, expect, it } from "vitest";
import { newProduct } from "../support/product.ts";
import { AS_COMMAND } from "./support/pty.ts";

const product = await newProduct();
const repo = product.box.repo("work");
let run: string;

beforeAll(async () => {
  product.agent("quick", [[{ report: { completed: ["all"], intended: [], verdict: "done" } }]]);
  const door = await product.connect();
  run = (await door.start({ repo, objective: "a\tb\nc: d", agent: "quick" })).run_id;
  await door.ended(run);
  await door.close();
});

function inShell(shell: string, script: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    execFile(shell, ["-c", script], { cwd: repo, env: { ...product.env } }, (error, out, err) => {
      if (error !== null && err !== "") reject(new Error(err));
      else resolve(out.split("\n").filter((line) => line !== ""));
    });
  });
}

const has = (program: string): boolean => {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
};

/** What bash offers for the line, by its own rules of where words end. */
function bash(line: string): Promise<readonly string[]> {
  const words = line.split(/(@)| /u).filter((word) => word !== undefined && word !== "");
  if (line.endsWith(" ")) words.push("");
  const listed = words.map((word) => `'${word}'`).join(" ");
  return inShell(
    "bash",
    `${AS_COMMAND}; source <(loopkeeper completion bash); COMP_WORDS=(${listed}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _loopkeeper; printf '%s\\n' "\${COMPREPLY[@]}"`,
  );
}

describe("bash completes", () => {
  it.each([
    ["commands", "loopkeeper res", ["resume", "reset"]],
    ["flags of the tool's schema", "loopkeeper grant x 3 --c", ["--continue"]],
    ["switches both ways", "loopkeeper grant x 3 --no", ["--no-continue"]],
    ["values of an enum", "loopkeeper resume x --permission allow", ["allow_once", "allow_for_run"]],
    ["agents", "loopkeeper start x --agent q", ["quick"]],
    ["@last, of which bash takes the sign for a word", "loopkeeper explain @la", ["last"]],
    ["clients of setup", "loopkeeper setup claude-d", ["claude-desktop"]],
  ])("%s", async (_what, line, expected) => {
    expect(await bash(line)).toEqual(expected);
  });

  it("runs of the store, with nothing of an objective in the words", async () => {
    expect(await bash("loopkeeper status ")).toEqual(["@last", run.slice(4, 12)]);
  });
});

describe("other shells", () => {
  it.runIf(has("zsh"))("zsh completes runs with what they are about", async () => {
    const stubs = `compdef() { }; _describe() { print -rl -- "\${(@P)2}" }`;
    const script = `${stubs}; ${AS_COMMAND}; source <(loopkeeper completion zsh); words=(loopkeeper status ${run.slice(4, 8)}); CURRENT=3; _loopkeeper`;
    expect(await inShell("zsh", script)).toEqual([`${run.slice(4, 12)}:done a b c: d`]);
  });

  it.runIf(has("fish"))("fish completes values of an enum", async () => {
    const command = AS_COMMAND.replace("loopkeeper() {", "function loopkeeper;").replace('"$@"; }', "$argv; end");
    const found = await inShell(
      "fish",
      `${command}; loopkeeper completion fish | source; complete -C 'loopkeeper stop x --mode '`,
    );
    expect(found).toEqual(["after_iteration", "now"]);
  });
});
