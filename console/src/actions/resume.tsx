import { type ReactNode, useState } from "react";
import { LABELS } from "../../../src/run/names.ts";
import type { RunView } from "../../../src/tools/schemas.ts";
import { act } from "../api/client.ts";
import { useAccount } from "../api/queries.ts";
import { driftLines } from "../run/drift.ts";
import { Question } from "../run/question.tsx";
import { announce } from "../ui/announce.tsx";
import { Button } from "../ui/button.tsx";
import { clockTime, useIsAhead } from "../ui/clock.ts";
import { Choice, Field, inputClass } from "../ui/field.tsx";
import { ScrollRegion } from "../ui/scroll-region.tsx";
import { BudgetField } from "./budget-field.tsx";
import { type DeedAnswer, useDeed } from "./deed.ts";
import { ActionFrame } from "./frame.tsx";
import { IterationsField } from "./iterations-field.tsx";
import { List } from "./list.tsx";
import type { ActionProps } from "./props.ts";
import { argumentsOf, type Draft, emptyDraft, missingOf } from "./resume-draft.ts";

interface Resumed extends DeedAnswer {
  readonly resumed?: { readonly context: string; readonly why_handoff: string | null } | null;
  readonly scheduled_for?: string | null;
}

interface Would {
  readonly would?: {
    readonly context: string;
    readonly note: string;
    readonly restore: {
      readonly restored: readonly string[];
      readonly removed: readonly string[];
      readonly conflicts: readonly string[];
    } | null;
  };
}

/** Resume, and answer: the same call, with what this stop asks for in sight and the rest folded away. */
export function ResumeDialog({ wanted, head, lookAgain, onClose }: ActionProps) {
  const { run } = head;
  const [draft, setDraft] = useState<Draft>(() => emptyDraft(wanted, run));
  const set = (part: Partial<Draft>): void => setDraft((before) => ({ ...before, ...part }));
  const account = useAccount(run.run_id, true);
  const drift = account.data?.explanation.drift ?? null;
  const ahead = useIsAhead(run.stop?.resets_at ?? null);
  const beforeReset = run.stop_reason === "engine_limit" && ahead;
  const needsDrift = drift !== null && (drift.branch.merged !== null || drift.branch.remote?.deleted === true);
  const missing = missingOf(draft, run, { beforeReset, needsDrift });
  const deed = useDeed<Resumed>({ run_id: run.run_id, path: "resume" }, run.revision, lookAgain);
  const note = useNote(run);

  async function resume(): Promise<void> {
    const answer = await deed.send(argumentsOf(draft, beforeReset));
    if (answer === null) return;
    announce(toldOf(answer));
    onClose();
  }

  const question = run.stop?.question ?? null;
  return (
    <ActionFrame
      title={question === null ? "Resume" : "Answer"}
      objective={head.objective}
      deed={deedOf(run, draft, beforeReset, question !== null)}
      pending={deed.pending}
      ready={missing.length === 0}
      problem={deed.problem}
      stale={deed.stale}
      extra={
        <Button
          look="quiet"
          disabled={note.pending || missing.length > 0}
          onClick={() => void note.read(argumentsOf(draft, beforeReset))}
        >
          Read the note first
        </Button>
      }
      onDo={() => void resume()}
      onClose={onClose}
    >
      <Asked run={run} draft={draft} set={set} />
      {beforeReset && run.stop?.resets_at != null && (
        <Choice
          legend="When"
          value={draft.at ?? "reset"}
          options={[
            {
              value: "reset",
              label: `${LABELS.at.reset}, at ${clockTime(run.stop.resets_at)}`,
              hint: "Nothing starts before.",
            },
            { value: "now", label: LABELS.at.now, hint: "Tries at once, although the window may still be spent." },
          ]}
          onChange={(at) => set({ at })}
        />
      )}
      <Needs run={run} draft={draft} set={set} />
      {drift !== null && (needsDrift || hasDrift(drift)) && (
        <DriftChoice lines={driftLines(drift)} required={needsDrift} draft={draft} set={set} />
      )}
      {(run.stop_reason === "failed" || wanted.from !== undefined) && <FromChoice run={run} draft={draft} set={set} />}
      <details className="mb-2">
        <summary className="cursor-pointer text-[13px] text-soft">More</summary>
        <More
          run={run}
          draft={draft}
          set={set}
          showFrom={run.stop_reason !== "failed" && wanted.from === undefined}
          showDrift={drift !== null && !needsDrift && !hasDrift(drift)}
        />
      </details>
      {note.shown}
    </ActionFrame>
  );
}

/** What the agent would be told, by a dry run that changes nothing. */
function useNote(run: RunView): { readonly pending: boolean; readonly shown: ReactNode; read(body: object): Promise<void> } {
  const [pending, setPending] = useState(false);
  const [answer, setAnswer] = useState<Would["would"] | Error | null>(null);
  async function read(body: object): Promise<void> {
    setPending(true);
    try {
      const told = await act<Would>(`/api/runs/${encodeURIComponent(run.run_id)}/resume`, { ...body, dry_run: true }, {});
      setAnswer(told.would ?? null);
    } catch (error) {
      setAnswer(error instanceof Error ? error : new Error(String(error)));
    } finally {
      setPending(false);
    }
  }
  return { pending, read, shown: answer === null || answer === undefined ? null : <Note answer={answer} /> };
}

function Note({ answer }: { readonly answer: NonNullable<Would["would"]> | Error }) {
  if (answer instanceof Error)
    return (
      <p role="alert" className="rounded-md border border-bad px-3 py-2 text-[13px] text-bad">
        {answer.message}
      </p>
    );
  return (
    <section aria-label="The note" aria-live="polite" className="mt-2">
      <h3 className="text-[13px] font-semibold">
        What the agent is told{" "}
        <span className="font-normal text-soft">
          ({answer.context === "native" ? "in its own conversation" : "in a new conversation, as a hand-off"})
        </span>
      </h3>
      <ScrollRegion label="The note's text" className="mt-1 max-h-72 overflow-auto rounded-md bg-raised p-2">
        <pre className="font-mono text-[12px] break-words whitespace-pre-wrap">{answer.note}</pre>
      </ScrollRegion>
      {answer.restore !== null && (
        <div className="mt-2 text-[13px]">
          <List title="Files put back" items={answer.restore.restored} />
          <List title="Files removed" items={answer.restore.removed} />
          <List title="Changed by others since, and in the way" items={answer.restore.conflicts} />
        </div>
      )}
    </section>
  );
}

interface Part {
  readonly run: RunView;
  readonly draft: Draft;
  readonly set: (part: Partial<Draft>) => void;
}

/** Its question, and the answer or the orders. */
function Asked({ run, draft, set }: Part) {
  const question = run.stop?.question ?? null;
  const needs = run.stop?.needs ?? [];
  return (
    <>
      {question !== null && (
        <div className="mb-3">
          <Question question={question} />
        </div>
      )}
      {needs.includes("permission") && (
        <Choice
          legend="Your answer, for exactly this command"
          required
          value={draft.permission}
          options={[
            { value: "allow_once", label: "Allow it once" },
            { value: "allow_for_run", label: "Allow it for the rest of this run" },
            { value: "deny", label: "Deny it", hint: "The agent is told so and goes on without." },
          ]}
          onChange={(permission) => set({ permission })}
        />
      )}
      <Field
        label={question?.kind === "question" ? "Your answer" : "Instructions"}
        required={needs.includes("instructions")}
        {...(needs.includes("permission") ? { hint: "Instructions never allow anything; only the answer above does." } : {})}
        render={(ids) => (
          <textarea
            {...ids}
            rows={3}
            maxLength={100_000}
            value={draft.instructions}
            placeholder={needs.includes("instructions") ? "" : "What to do differently; may be left empty"}
            onChange={(event) => set({ instructions: event.target.value })}
            className={inputClass}
          />
        )}
      />
    </>
  );
}

function Needs({ run, draft, set }: Part) {
  const needs = run.stop?.needs ?? [];
  return (
    <>
      {needs.includes("add_iterations") && <Iterations run={run} draft={draft} set={set} required />}
      {needs.includes("budget") && <BudgetField run={run} value={draft.budget} required onChange={(budget) => set({ budget })} />}
    </>
  );
}

function Iterations({ run, draft, set, required = false }: Part & { readonly required?: boolean }) {
  return (
    <IterationsField
      value={draft.add_iterations}
      required={required}
      hint={`Added to the ceiling; ${run.iteration} of ${run.max_iterations} are used.`}
      onChange={(add_iterations) => set({ add_iterations })}
    />
  );
}

const DRIFT_OPTIONS = [
  { value: "keep", label: LABELS.on_drift.keep, hint: "The agent is told what changed." },
  {
    value: "restore",
    label: LABELS.on_drift.restore,
    hint: "What is there now is saved in a checkpoint first.",
  },
  { value: "refuse", label: LABELS.on_drift.refuse },
] as const;

function DriftChoice({
  lines,
  required,
  draft,
  set,
}: Omit<Part, "run"> & { readonly lines: readonly string[]; readonly required: boolean }) {
  return (
    <>
      <p className="mb-1 text-[13px]">
        <span className="text-soft">Since the stop: </span>
        {lines.join(" · ")}
      </p>
      <Choice
        legend="What others changed"
        required={required}
        options={DRIFT_OPTIONS}
        value={draft.on_drift ?? (required ? null : "keep")}
        onChange={(on_drift) => set({ on_drift })}
      />
    </>
  );
}

function FromChoice({ run, draft, set }: Part) {
  return (
    <Choice
      legend="Where it goes on"
      value={draft.from ?? (run.stop_reason === "failed" ? "entry" : "stop")}
      options={[
        { value: "stop", label: LABELS.from.stop, hint: "Keeps its work and its context." },
        {
          value: "entry",
          label: LABELS.from.entry,
          hint: "Takes the step's files back to where the step began, and tries afresh.",
        },
      ]}
      onChange={(from) => set({ from })}
    />
  );
}

function More({ run, draft, set, showFrom, showDrift }: Part & { readonly showFrom: boolean; readonly showDrift: boolean }) {
  const needs = run.stop?.needs ?? [];
  return (
    <div className="pt-2">
      <Field
        label="Updates"
        hint="Facts such as the text of a ticket; the agent gets them as data, not as orders."
        render={(ids) => (
          <textarea
            {...ids}
            rows={2}
            maxLength={100_000}
            value={draft.updates}
            onChange={(event) => set({ updates: event.target.value })}
            className={inputClass}
          />
        )}
      />
      {!needs.includes("add_iterations") && <Iterations run={run} draft={draft} set={set} />}
      {!needs.includes("budget") && <BudgetField run={run} value={draft.budget} onChange={(budget) => set({ budget })} />}
      {showFrom && <FromChoice run={run} draft={draft} set={set} />}
      {showDrift && (
        <Choice
          legend="If others changed something"
          options={DRIFT_OPTIONS}
          value={draft.on_drift ?? "keep"}
          onChange={(on_drift) => set({ on_drift })}
        />
      )}
      <Field
        label="Model"
        hint="Another model of the same agent; left empty it stays as it is."
        render={(ids) => (
          <input
            {...ids}
            value={draft.model}
            placeholder={run.agent.model ?? ""}
            onChange={(event) => set({ model: event.target.value })}
            className={`${inputClass} max-w-64`}
          />
        )}
      />
    </div>
  );
}

function hasDrift(drift: Parameters<typeof driftLines>[0]): boolean {
  return (
    drift.workspace_missing ||
    drift.head_moved === true ||
    drift.branch_moved === true ||
    drift.files_changed.length > 0 ||
    drift.commits_by_others.length > 0 ||
    drift.operation_in_progress !== null
  );
}

function deedOf(run: RunView, draft: Draft, beforeReset: boolean, asked: boolean): string {
  if (beforeReset && (draft.at ?? "reset") === "reset" && run.stop?.resets_at != null)
    return `Resume at ${clockTime(run.stop.resets_at)}`;
  return asked ? "Answer and resume" : "Resume";
}

function toldOf(answer: Resumed): string {
  if (answer.scheduled_for != null) return `It goes on at ${clockTime(answer.scheduled_for)}.`;
  const { resumed } = answer;
  if (resumed == null) return answer.summary;
  if (resumed.context === "native") return "Resumed, with its own conversation.";
  return resumed.context === "handoff"
    ? `Resumed by hand-off${resumed.why_handoff === null ? "" : `: ${resumed.why_handoff}`}.`
    : "Resumed; the engine is still starting.";
}
