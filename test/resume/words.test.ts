import { describe, expect, it } from "vitest";
import { commandsOf } from "../../src/cli/commands.ts";
import { flagsOf } from "../../src/cli/flags.ts";
import { choices, type Look, nextActions } from "../../src/resume/choices.ts";
import { offers } from "../../src/resume/offers.ts";
import { REFUSALS } from "../../src/resume/refusals.ts";
import { argument, LABELS, setting, TOOL_NAMES, tool } from "../../src/run/names.ts";
import type { Said } from "../../src/run/said.ts";
import { NEEDS } from "../../src/run/stop-reason.ts";
import { TOOLS } from "../../src/tools/index.ts";
import { everyRun, factsOf } from "../support/every-run.ts";
import { aDrift, aRun } from "../support/records.ts";

/** Every sentence that a person can meet is said in what they have: fields and buttons, or commands and flags. */

const NOW = Date.parse("2026-06-01T12:00:00.000Z");
const commands = commandsOf(TOOLS);
/** What can be typed stands in backticks: a command of ours or a flag. */
const TYPED = /`(?:loopkeeper |--)[^`]*`/gu;
const IDS = /\b(?:run_[0-9a-z]{20}|cp_\w+)\b/gu;
const ARGUMENTS = new Set(TOOLS.flatMap((one) => Object.keys(one.input.shape)).filter((name) => name.includes("_")));

function isForPeople(what: string, said: Said): void {
  expect([what, said.page.replaceAll(IDS, "")]).toEqual([what, expect.not.stringMatching(/[a-z]_[a-z]|`/u)]);
  expect([what, said.shell.replaceAll(TYPED, "").replaceAll(IDS, "")]).toEqual([
    what,
    expect.not.stringMatching(/[a-z]_[a-z]|`/u),
  ]);
  for (const name of ARGUMENTS) expect([what, said.page.includes(name)]).toEqual([what, false]);
}

const STALE = { path: "/r/.git/index.lock", holder: null, state: "stale", age_s: 90 } as const;
const NOTHING = { drift: null, lost: new Set<string>(), entry_conflicts: [] };
/** What a look at the repository can find that decides about the choices. */
const LOOKS: readonly Look[] = [
  NOTHING,
  { ...NOTHING, lost: new Set(["cp_entry"]) },
  { ...NOTHING, drift: aDrift(), entry_conflicts: ["a.txt"] },
  { ...NOTHING, drift: aDrift({ operation_in_progress: "merge", operation_by_run: false }) },
  { ...NOTHING, drift: aDrift({ workspace: "occupied" }) },
  { ...NOTHING, drift: aDrift({ locks: [STALE] }) },
  {
    ...NOTHING,
    drift: aDrift({
      branch: { local: null, remote: null, remote_checked: true, merged: { into: "main", sha: "e".repeat(40), how: "merge" } },
    }),
  },
];

describe("what people are told", () => {
  it.each(REFUSALS.map((row, n) => [`${row.word} (${row.when}, ${n})`, row] as const))("of a refusal: %s", (_name, row) => {
    for (const { name, run } of everyRun()) {
      const message = row.message(run);
      isForPeople(`${row.word}: ${name}`, message);
      expect(message.page).not.toBe("");
    }
  });

  it.each(Object.entries(NEEDS))("of a need: %s", (argumentName, row) => {
    isForPeople(argumentName, row.name);
    isForPeople(argumentName, row.missing);
    expect(row.name.agent).toBe(argumentName);
    expect(row.name.shell).toContain(`--${argumentName.replaceAll("_", "-")} `);
    expect(row.name.page).not.toBe("");
  });

  it("of every choice, next call and offer of every run", () => {
    for (const { name, run } of everyRun()) {
      for (const waiting_until of [null, "2026-06-01T15:00:00.000Z"]) {
        const facts = factsOf({ ...run, waiting_until });
        for (const look of LOOKS)
          for (const choice of choices(facts, NOW, look)) isForPeople(`${name}: ${choice.label}`, choice.why);
        for (const action of nextActions(facts, NOW)) isForPeople(`${name}: ${action.tool}`, action.why);
        for (const { action, why } of offers(facts, NOW)) if (why !== null) isForPeople(`${name}: ${action}`, why);
      }
    }
  });

  it("of a run that needs iterations: an argument, a field, a flag", () => {
    const run = everyRun().find((one) => one.name === "stopped max_iterations")?.run ?? aRun();
    const [resume] = choices(factsOf(run), NOW);
    expect(resume?.why).toEqual({
      agent: "keeps its context and its files; must be given add_iterations",
      page: "keeps its context and its files; needs more iterations",
      shell: "keeps its context and its files; give `--add-iterations 10`",
    });
  });
});

describe("a name", () => {
  it("of a tool is typed as its command", () => {
    expect(Object.keys(TOOL_NAMES).toSorted()).toEqual(TOOLS.map((one) => one.name).toSorted());
    const typed = new Map(Object.values(TOOL_NAMES).map(({ command }, n) => [Object.keys(TOOL_NAMES)[n], command]));
    for (const command of commands) expect(typed.get(command.tool.name)).toBe(command.name);
    expect(tool("run_wait").shell).toBe("`loopkeeper wait`");
  });

  it("of a value that a page shows is one that the argument takes, and a flag that there is", () => {
    const resume = commands.find((command) => command.tool.name === "run_resume");
    const flags = resume === undefined ? [] : flagsOf(resume);
    for (const [name, labels] of Object.entries(LABELS)) {
      const flag = flags.find((one) => one.argument === name);
      expect([name, flag?.choices?.toSorted()]).toEqual([name, Object.keys(labels).toSorted()]);
      expect(argument(name, "").shell).toBe(`\`--${flag?.name ?? ""}\``);
    }
    expect(setting("on_drift", "keep")).toEqual({
      agent: 'on_drift: "keep"',
      page: '"Go on with things as they are now"',
      shell: "`--on-drift keep`",
    });
  });
});
