import type { Drift } from "../checkpoint/drift-shapes.ts";
import { iterationsLeft } from "../run/grant.ts";
import { tool } from "../run/names.ts";
import { type Said, said } from "../run/said.ts";
import { needNames, type ResumeNeed } from "../run/stop-reason.ts";
import { restoreRefusal, resumeRefusal, wantsFreshBase } from "./drift-gate.ts";
import { beforeReset, defaultFrom, type GateFacts, redoable, redoNeeds, resetToStartRefusal, resumeNeeds } from "./gate.ts";
import { type Refusal, refusalOf } from "./refusals.ts";
import { lastAttempt, stepToContinue } from "./reopen.ts";

/** One thing that the owner may do now, with literal arguments. */
export interface Choice {
  readonly action: "resume" | "grant" | "reset" | "redo" | "start_new";
  readonly label: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly needs: readonly string[];
  readonly allowed: boolean;
  readonly recommended: boolean;
  readonly destructive: boolean;
  readonly why: Said;
}

export interface NextAction {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly needs: readonly string[];
  readonly why: Said;
}

/** What a look at the repository told: it decides what of the choices can be carried out as it stands. */
export interface Look {
  readonly drift: Drift | null;
  /** Checkpoints that nothing can be taken back to any more. */
  readonly lost: ReadonlySet<string>;
  /** Paths that keep a step's start from being restored. */
  readonly entry_conflicts: readonly string[];
}

const UNSEEN: Look = { drift: null, lost: new Set(), entry_conflicts: [] };

/** All choices for a run that is not live; refused ones are listed with their reason and `allowed: false`. */
export function choices(facts: GateFacts, nowMs: number, look: Look = UNSEEN): readonly Choice[] {
  const freshBase = wantsFreshBase(look.drift);
  const all = [
    ...resumeChoices(facts, nowMs),
    ...grantChoices(facts),
    resetChoice(facts, false),
    resetChoice(facts, true),
    ...bringBackChoice(facts),
    ...redoChoices(facts),
    startNew(facts, freshBase),
  ];
  const list = all.flatMap((choice) => afterLook(facts, choice, look));
  // One recommendation at most: the first allowed one in this order of merit.
  const best = freshBase
    ? list.find((choice) => choice.action === "start_new")
    : list.find((choice) => choice.allowed && choice.recommended);
  return list.map((choice) => ({ ...choice, recommended: choice === best }));
}

/** A choice as it can be called now: with the word that it wants for what changed since the stop, or withdrawn. */
function afterLook(facts: GateFacts, choice: Choice, look: Look): readonly Choice[] {
  const { drift, lost } = look;
  if (goesBackTo(facts, choice).some((id) => lost.has(id))) return [withdrawn(choice, LOST)];
  if (!choice.allowed || drift === null || choice.args["at"] === "reset") return [choice];
  if (choice.action === "resume") return resumeAfterLook(facts, choice, drift, look.entry_conflicts);
  const refused = choice.action === "reset" || choice.action === "redo" ? restoreRefusal(facts.run, drift) : null;
  return [refused === null ? choice : withdrawn(choice, withWord(refused))];
}

const SAID = {
  keep: "with what changed since kept",
  restore: "with the run's own files put back",
} as const;

/** The ways to resume that the gate lets pass: plain where it does, else one for each word that does. */
function resumeAfterLook(facts: GateFacts, choice: Choice, drift: Drift, conflicts: readonly string[]): readonly Choice[] {
  const from = choice.args["from"] === "entry" || (choice.args["from"] === undefined && defaultFrom(facts) === "entry");
  const refusal = (on_drift?: keyof typeof SAID): Refusal | null =>
    resumeRefusal(facts.run, drift, { from: from ? "entry" : "stop", on_drift }, from ? conflicts : []);
  const plain = refusal();
  if (plain === null) return [choice];
  const because = withWord(plain);
  const passing = (["keep", "restore"] as const).filter((on_drift) => refusal(on_drift) === null);
  if (passing.length === 0) return [withdrawn(choice, because)];
  return passing.map((on_drift) => ({
    ...choice,
    label: `${choice.label}, ${SAID[on_drift]}`,
    args: { ...choice.args, on_drift },
    why: said`${choice.why}; ${WITHOUT_DRIFT} (${because})`,
  }));
}

/** The checkpoint that a choice takes files back to, if it does. */
function goesBackTo(facts: GateFacts, choice: Choice): readonly string[] {
  const { run, attempts, steps } = facts;
  const entryOf = (attempt: GateFacts["attempts"][number] | null | undefined): string[] =>
    [attempt?.entry_checkpoint ?? []].flat();
  if (choice.action === "redo") return entryOf(lastAttempt(attempts, String(choice.args["step"])));
  if (choice.action === "reset") return typeof choice.args["to"] === "string" ? [choice.args["to"]] : entryOf(attempts[0]);
  if (choice.action !== "resume" || (choice.args["from"] ?? defaultFrom(facts)) !== "entry") return [];
  return entryOf(lastAttempt(attempts, stepToContinue(run, steps)?.step ?? ""));
}

const LOST = said`${word("lost")}the checkpoint that it goes back to is gone from the repository (its objects were pruned)`;

function withdrawn(choice: Choice, why: Said): Choice {
  return { ...choice, allowed: false, recommended: false, needs: [], why };
}

/** The calls that make sense next, for the common part of every answer. */
export function nextActions(facts: GateFacts, nowMs: number, look: Look = UNSEEN): readonly NextAction[] {
  const { run } = facts;
  if (run.state === "queued" || run.state === "running" || run.state === "stopping") {
    const wait = {
      tool: "run_wait",
      args: { run_id: run.run_id, since_revision: run.revision },
      needs: [],
      why: said`wait until it stops or is done`,
    };
    return run.state === "stopping"
      ? [wait]
      : [
          wait,
          { tool: "run_stop", args: withRevision(facts, {}), needs: [], why: said`stop it; its work is kept` },
          {
            tool: "run_instruct",
            args: withRevision(facts, {}),
            needs: ["instructions"],
            why: said`steer it without stopping it, from its next iteration on`,
          },
        ];
  }
  const allowed = choices(facts, nowMs, look).filter((choice) => choice.allowed && !choice.destructive);
  const explain = {
    tool: "run_explain_stop",
    args: { run_id: run.run_id },
    needs: [],
    why: said`the full account of the stop, with all choices`,
  };
  const cancel = {
    tool: "run_stop",
    args: withRevision(facts, {}),
    needs: [],
    why: said`cancels the wait: otherwise it goes on by itself at ${run.waiting_until ?? ""}`,
  };
  return [
    explain,
    ...(run.state === "done" ? [takeOver(facts)] : []),
    ...(run.waiting_until === null ? [] : [cancel]),
    ...allowed.slice(0, 3).map(({ tool, args, needs, why }) => ({ tool, args, needs, why })),
  ];
}

/** Where the work of a done run is; the commands are in the answer's `take_over`. */
function takeOver({ run }: GateFacts): NextAction {
  const left = run.stop?.uncommitted?.total_files ?? 0;
  const branch = run.branch?.replace("refs/heads/", "") ?? "a detached HEAD";
  const uncommitted = left === 0 ? "" : `${left} uncommitted ${left === 1 ? "file" : "files"} in ${run.workspace_path} and `;
  const where =
    run.workspace_kind === "in_place" ? `${uncommitted}what it committed on ${branch}` : `${uncommitted}branch ${branch}`;
  return {
    tool: "run_status",
    args: { run_id: run.run_id },
    needs: [],
    why: said`${{ agent: "take_over", page: "its page", shell: "this" }} has the git commands that take its work over: ${where}`,
  };
}

function resumeChoices(facts: GateFacts, nowMs: number): Choice[] {
  const refused = refusalOf("resume", facts.run);
  if (refused !== null) return [refusedChoice("resume", "Resume", "run_resume", { run_id: facts.run.run_id }, refused)];
  const from = defaultFrom(facts);
  const other = from === "stop" ? "entry" : "stop";
  if (beforeReset(facts.run, nowMs)) {
    const at = facts.run.stop?.resets_at ?? "";
    return [
      resumeChoice(
        facts,
        from,
        { at: "reset" },
        "Resume when the window resets",
        said`waits until ${at}; nothing starts before`,
        true,
      ),
      resumeChoice(facts, from, { at: "now" }, "Resume now", said`tries at once although the window may still be spent`, false),
    ];
  }
  const verdict = facts.run.stop_reason === "failed";
  return [
    resumeChoice(
      facts,
      from,
      {},
      from === "stop" ? "Resume where it stopped" : "Resume from the step's start",
      from === "stop"
        ? said`keeps its context and its files`
        : said`takes the step's files back to where the step began and tries afresh`,
      true,
    ),
    ...(facts.steps.some((step) => step.attempt > 0) && (verdict || from === "entry")
      ? [resumeChoice(facts, other, { from: other }, OTHER_WAY[other][0], OTHER_WAY[other][1], false)]
      : []),
  ];
}

const OTHER_WAY = {
  stop: ["Resume where it stopped", said`keeps the files as they are; say what to do differently`],
  entry: ["Resume from the step's start", said`takes the step's files back to where the step began and tries afresh`],
} as const;

function resumeChoice(
  facts: GateFacts,
  from: "stop" | "entry",
  args: Record<string, unknown>,
  label: string,
  why: Said,
  recommended: boolean,
): Choice {
  const needs: readonly ResumeNeed[] = resumeNeeds(facts, from);
  return {
    action: "resume",
    label,
    tool: "run_resume",
    args: withRevision(facts, args),
    needs,
    allowed: true,
    recommended,
    destructive: false,
    why: needs.length === 0 ? why : said`${why}; ${MUST_BE_GIVEN} ${needNames(needs)}`,
  };
}

function grantChoices(facts: GateFacts): Choice[] {
  const refused = refusalOf("grant", facts.run);
  if (refused !== null)
    return [refusedChoice("grant", "Grant iterations", "run_grant_iterations", { run_id: facts.run.run_id }, refused)];
  const continues = facts.run.stop_reason === "max_iterations";
  return [
    {
      action: "grant",
      label: continues ? "Grant iterations and go on as it was" : "Grant iterations (raises the ceiling only)",
      tool: "run_grant_iterations",
      args: withRevision(facts, {}),
      needs: ["iterations"],
      allowed: true,
      recommended: false,
      destructive: false,
      why: continues
        ? said`goes on at once, as it was, with more iterations`
        : said`only widens the ceiling (${iterationsLeft(facts.run)} iterations are left); ${tool("run_resume")} continues it`,
    },
  ];
}

function resetChoice(facts: GateFacts, restart: boolean): Choice {
  const label = restart ? "Reset to the start and start anew" : "Reset to the start";
  const args = restart ? { run_id: facts.run.run_id, restart: true } : { run_id: facts.run.run_id };
  const refused = resetToStartRefusal(facts);
  if (refused !== null) return refusedChoice("reset", label, "run_reset", args, refused);
  return {
    action: "reset",
    label,
    tool: "run_reset",
    args: withRevision(facts, restart ? { restart: true } : {}),
    needs: [],
    allowed: true,
    recommended: false,
    destructive: true,
    why: restart
      ? said`undoes the run's work and starts a new run with the same settings; shows the consequences first`
      : said`undoes the run's work; shows the consequences first and changes nothing ${WITHOUT_TOKEN}`,
  };
}

/** Steps listed one by one; a run may have many more. */
const REDO_LISTED = 5;

function redoChoices(facts: GateFacts): Choice[] {
  const begun = redoable(facts);
  const [first] = begun;
  if (first === undefined) return [];
  const refused = refusalOf("redo", facts.run);
  const args = { run_id: facts.run.run_id, step: first.step };
  if (refused !== null) return [refusedChoice("redo", "Do a step again", "run_redo", args, refused)];
  return begun.slice(-REDO_LISTED).map((step) => ({
    action: "redo",
    label: facts.steps.length === 1 ? "Do it again from the start" : `Do step ${step.step} again`,
    tool: "run_redo",
    args: withRevision(facts, { step: step.step }),
    needs: redoNeeds(facts, step),
    allowed: true,
    recommended: false,
    destructive: true,
    why: said`takes the files back to where the step began and runs it and what came after it anew; shows the consequences first`,
  }));
}

/** After a reset to the start, the way back: the safety checkpoint that holds what the reset removed. */
function bringBackChoice(facts: GateFacts): Choice[] {
  const { was_reset: safety } = facts.run;
  if (safety === null || refusalOf("reset", facts.run) !== null) return [];
  return [
    {
      action: "reset",
      label: "Bring the work back",
      tool: "run_reset",
      args: withRevision(facts, { to: safety }),
      needs: [],
      allowed: true,
      recommended: false,
      destructive: true,
      why: said`undoes the reset from its safety checkpoint; shows the consequences first`,
    },
  ];
}

function startNew(facts: GateFacts, freshBase: boolean): Choice {
  const { run } = facts;
  return {
    action: "start_new",
    label: freshBase ? "Start a new run on a fresh base" : "Start a new run",
    tool: "coding_loop_start",
    // In place stays in place: a worktree would not have the files as this run left them, and wants a first commit.
    args: { repo: run.repo_path, agent: run.agent, ...(run.workspace_kind === "in_place" ? { workspace: "in_place" } : {}) },
    needs: ["objective"],
    allowed: true,
    recommended: run.state === "done" || run.was_reset !== null,
    destructive: false,
    why: run.state === "done" ? said`this run is done` : said`a new objective, or the same one afresh; this run stays as it is`,
  };
}

function refusedChoice(
  action: Choice["action"],
  label: string,
  tool: string,
  args: Record<string, unknown>,
  refused: Refusal,
): Choice {
  return {
    action,
    label,
    tool,
    args,
    needs: [],
    allowed: false,
    recommended: false,
    destructive: action === "reset" || action === "redo",
    why: withWord(refused),
  };
}

const MUST_BE_GIVEN: Said = { agent: "must be given", page: "needs", shell: "give" };
const WITHOUT_TOKEN: Said = { agent: "without their token", page: "before you agree", shell: "before you agree" };

const WITHOUT_DRIFT: Said = {
  agent: "without on_drift it is refused",
  page: "that has to be chosen",
  shell: "without `--on-drift` it is refused",
};

function withWord(refused: Refusal): Said {
  return said`${word(refused.word)}${refused.message}`;
}

/** The fixed first word of a refusal, for those who read it by program. */
function word(fixed: string): Said {
  return { agent: `${fixed}: `, page: "", shell: "" };
}

function withRevision(facts: GateFacts, args: Record<string, unknown>): Record<string, unknown> {
  return { run_id: facts.run.run_id, ...args, expected_revision: facts.run.revision };
}
