import { styleText } from "node:util";
import { logOf, openParts, type Parts } from "../app.ts";
import { parseWords } from "../command-words.ts";
import { type Config, readWhatCanBeRead } from "../config.ts";
import { redact } from "../redact/redact.ts";
import { visible } from "../resume/shown.ts";
import type { LoopkeeperError } from "../run/errors.ts";
import { hasColour } from "../terminal.ts";
import { checkAgents } from "./agents.ts";
import { type Finding, ok, problem } from "./finding.ts";
import { checkDisk, checkGit, checkHome, checkNode } from "./host.ts";
import { checkServe } from "./serve.ts";
import { checkStore } from "./store.ts";

const HELP = `Usage: loopkeeper doctor [--deep] [--json]

Looks at all that Loopkeeper needs and says what to do about what is wrong. Wakes nothing and shows no secret; opening the store
makes it if there is none, and brings one of an older version up to date, as every command does.

  --deep   also start each agent and see whether it answers (no model is asked)
  --json   print the findings as JSON

Exit code: 0 when nothing is a problem, 1 otherwise.
`;

const OPTIONS = { deep: { type: "boolean" }, json: { type: "boolean" }, help: { type: "boolean", short: "h" } } as const;

/** `loopkeeper doctor`. Resolves to the exit code. */
export async function runDoctorCommand(words: readonly string[]): Promise<number> {
  const { values } = parseWords({ args: [...words], options: OPTIONS }, HELP);
  if (values.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  const { config, fault } = readWhatCanBeRead();
  const findings = (await look(config, fault, values.deep === true)).map(safe);
  const healthy = findings.every((finding) => finding.state !== "problem");
  if (values.json === true) process.stdout.write(`${JSON.stringify({ ok: healthy, findings }, null, 2)}\n`);
  else process.stdout.write(`${page(findings, hasColour(config.env, process.stdout.isTTY)).join("\n")}\n`);
  return healthy ? 0 : 1;
}

async function look(config: Config, fault: LoopkeeperError | null, deep: boolean): Promise<readonly Finding[]> {
  let opened: Parts | null = null;
  const open = async (): Promise<Parts> => {
    opened = await openParts(config, logOf({ ...config, log_level: "silent" }, "doctor"));
    return opened;
  };
  const close = async (parts: Parts | null): Promise<void> => parts?.store.close();
  try {
    const [git, home, disk, store, serve, agents] = await Promise.all([
      checkGit(config),
      checkHome(config),
      checkDisk(config),
      checkStore(config, open),
      checkServe(config),
      checkAgents(config, deep),
    ]);
    return [checkNode(), git, configuration(config, fault), home, disk, ...store, serve, ...agents];
  } finally {
    await close(opened);
  }
}

function configuration(config: Config, fault: LoopkeeperError | null): Finding {
  if (fault !== null) return problem("configuration", fault.message, "Correct it: nothing of Loopkeeper starts with it.");
  return ok("configuration", config.config_path ?? "none (LOOPKEEPER_CONFIG is not set)");
}

/** A database's address can hold a password, and a path anything at all. */
function safe(finding: Finding): Finding {
  const clean = (text: string): string => visible(redact(text));
  return { ...finding, found: clean(finding.found), do: finding.do === null ? null : clean(finding.do) };
}

const MARKS = { ok: ["ok", "green"], warning: ["warning", "yellow"], problem: ["PROBLEM", "red"] } as const;

function page(findings: readonly Finding[], colour: boolean): readonly string[] {
  const width = Math.max(...findings.map((finding) => finding.what.length));
  const lines = findings.flatMap(({ what, state, found, do: todo }) => {
    const [word, style] = MARKS[state];
    const mark = word.padEnd(8);
    const shown = colour ? styleText(style, mark, { validateStream: false }) : mark;
    return [`${shown} ${what.padEnd(width)}  ${found}`, ...(todo === null ? [] : [`${" ".repeat(9)}-> ${todo}`])];
  });
  const bad = findings.filter((finding) => finding.state === "problem").length;
  const warned = findings.filter((finding) => finding.state === "warning").length;
  const end =
    bad + warned === 0
      ? "All is well."
      : `${bad} ${bad === 1 ? "problem" : "problems"}, ${warned} ${warned === 1 ? "warning" : "warnings"}.`;
  return [...lines, "", end];
}
