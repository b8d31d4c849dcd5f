import { useEffect, useState } from "react";
import type { RunView } from "../../../src/tools/schemas.ts";
import { act, Problem } from "../api/client.ts";
import { announce } from "../ui/announce.tsx";
import { Button } from "../ui/button.tsx";
import { clockTime, useIsAhead } from "../ui/clock.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Check, Choice, Field, inputClass } from "../ui/field.tsx";
import { Info } from "../ui/info.tsx";
import { Fault, Skeleton } from "../ui/notice.tsx";
import { budgetIn, NO_BUDGET } from "./budget-draft.ts";
import { BudgetField } from "./budget-field.tsx";
import { ConsequenceLists, type ConsequencesTold } from "./consequence-lists.tsx";
import { type DeedAnswer, useDeed } from "./deed.ts";
import { ActionFrame } from "./frame.tsx";
import { IterationsField } from "./iterations-field.tsx";
import { List } from "./list.tsx";
import { useLook } from "./look.ts";
import { iterationsIn } from "./number.ts";
import type { ActionProps } from "./props.ts";
import { deedName, type RestoreDraft, wishOf } from "./restore-draft.ts";

interface Preview extends DeedAnswer {
  readonly needs_confirmation?: boolean;
  readonly preview_again?: "expired" | "changed" | null;
  readonly consequences?: ConsequencesTold & {
    readonly conflicts: readonly { readonly path: string; readonly changed_by: string }[];
  };
  readonly confirm_token?: string;
  readonly expires_at?: string;
  readonly reset?: {
    readonly restored: readonly string[];
    readonly removed: readonly string[];
    readonly kept: readonly string[];
    readonly safety_checkpoint: string;
  };
  readonly restarted_run_id?: string | null;
}

/** Reset and redo: what would happen is looked up and shown; only its own token carries it out. */
export function ConsequencesDialog({ wanted, head, lookAgain, onClose }: ActionProps) {
  const { run } = head;
  const redo = wanted.action === "redo";
  const path = redo ? "redo" : "reset";
  const [draft, setDraft] = useState<RestoreDraft>(() => ({
    step: wanted.step ?? run.steps.findLast((step) => step.attempt > 0)?.step ?? "",
    to: wanted.to ?? null,
    restart: wanted.restart ?? false,
    overwrite: [],
    instructions: "",
    add_iterations: "",
    budget: NO_BUDGET,
  }));
  const {
    preview,
    setPreview,
    fault,
    looking,
    look: ask,
  } = useLook(
    (next: RestoreDraft) => act<Preview>(`/api/runs/${encodeURIComponent(run.run_id)}/${path}`, wishOf(next, redo), {}),
    draft,
  );
  const [done, setDone] = useState<Preview | null>(null);
  // The token holds the revision that was looked at: what moved since comes back as a fresh preview.
  const deed = useDeed<Preview>({ run_id: run.run_id, path }, null, lookAgain);

  async function look(next: RestoreDraft): Promise<void> {
    setDraft(next);
    await ask(next);
  }

  async function carryOut(): Promise<void> {
    if (preview?.confirm_token === undefined) return;
    const answer = await deed.send({
      ...(redo ? { step: draft.step } : {}),
      confirm_token: preview.confirm_token,
      ...(redo && draft.instructions.trim() !== "" ? { instructions: draft.instructions } : {}),
    });
    if (answer === null) return;
    if (answer.needs_confirmation === true) return setPreview(answer);
    setDone(answer);
  }

  if (done !== null) return <Done answer={done} title={deedName(draft, run, redo)} onClose={onClose} />;
  const refusal = fault instanceof Problem ? fault.refusal : null;
  const needsIterations = refusal === "needs_iterations";
  const needsBudget = refusal === "needs_budget";
  const title = deedName(draft, run, redo);
  return (
    <ActionFrame
      title={title}
      objective={head.objective}
      deed={redo && run.state === "stopped" ? "Resume and redo" : title}
      look="danger"
      pending={deed.pending}
      ready={preview !== null && !looking}
      problem={deed.problem}
      stale={deed.stale}
      onDo={() => void carryOut()}
      onClose={onClose}
    >
      <Wishes head={head} draft={draft} redo={redo} onLook={(next) => void look(next)} />
      {looking && preview === null && <Skeleton lines={4} label="Looking what would happen" />}
      {fault !== null && !needsIterations && <Fault>{fault.message}</Fault>}
      {redo && (needsIterations || draft.add_iterations !== "") && (
        <Wanting run={run} draft={draft} needs="iterations" onLook={(next) => void look(next)} />
      )}
      {redo && (needsBudget || draft.budget !== NO_BUDGET) && (
        <Wanting run={run} draft={draft} needs="budget" onLook={(next) => void look(next)} />
      )}
      {preview !== null && <Consequences preview={preview} draft={draft} dimmed={looking} onLook={(next) => void look(next)} />}
      {redo && preview !== null && (
        <Field
          label="Instructions"
          hint="What to do differently this time; may be left empty."
          render={(ids) => (
            <textarea
              {...ids}
              rows={2}
              value={draft.instructions}
              onChange={(event) => setDraft({ ...draft, instructions: event.target.value })}
              className={inputClass}
            />
          )}
        />
      )}
    </ActionFrame>
  );
}

interface Part {
  readonly draft: RestoreDraft;
  readonly onLook: (next: RestoreDraft) => void;
}

/** What can be chosen before: each choice is looked up anew. */
function Wishes({ head, draft, redo, onLook }: Part & { readonly head: ActionProps["head"]; readonly redo: boolean }) {
  const begun = head.run.steps.filter((step) => step.attempt > 0);
  if (redo) {
    if (begun.length < 2) return null;
    return (
      <Field
        label="Step to do again"
        render={(ids) => (
          <select
            {...ids}
            value={draft.step}
            onChange={(event) => onLook({ ...draft, step: event.target.value, overwrite: [] })}
            className={`${inputClass} max-w-72`}
          >
            {begun.map((step) => (
              <option key={step.step} value={step.step}>
                {step.title ?? step.step}
              </option>
            ))}
          </select>
        )}
      />
    );
  }
  if (draft.to !== null && draft.to !== head.was_reset) return null;
  const back =
    head.was_reset === null
      ? []
      : [{ value: "back", label: "Bring the work back", hint: "Undoes the reset, from its safety checkpoint." } as const];
  return (
    <Choice
      legend="What to do"
      value={draft.to !== null ? "back" : draft.restart ? "anew" : "reset"}
      options={[
        { value: "reset", label: "Reset to the start", hint: "The run stays stopped. It can be brought back." },
        { value: "anew", label: "Reset to the start and start anew", hint: "The same settings, as a new run without a note." },
        ...back,
      ]}
      onChange={(value) =>
        onLook({ ...draft, restart: value === "anew", to: value === "back" ? head.was_reset : null, overwrite: [] })
      }
    />
  );
}

/** What a redo has to be given; it is looked up anew with it. */
function Wanting({ run, draft, needs, onLook }: Part & { readonly run: RunView; readonly needs: "iterations" | "budget" }) {
  const [text, setText] = useState(draft.add_iterations);
  const [budget, setBudget] = useState(draft.budget);
  const ready = needs === "iterations" ? iterationsIn(text) !== null : budgetIn(budget) !== null;
  const given = needs === "iterations" ? { add_iterations: text } : { budget };
  return (
    <div className="mb-3">
      {needs === "iterations" ? (
        <IterationsField value={text} required hint="None are left for this step." onChange={setText} />
      ) : (
        <BudgetField run={run} value={budget} required onChange={setBudget} />
      )}
      <Button disabled={!ready} onClick={() => onLook({ ...draft, ...given })}>
        Look again
      </Button>
    </div>
  );
}

const AGAIN = {
  expired: "What you confirmed was looked up more than ten minutes ago, so nothing was done. This is how it is now.",
  changed: "Something changed since it was looked up, so nothing was done. This is how it is now.",
} as const;

function Consequences({ preview, draft, dimmed, onLook }: Part & { readonly preview: Preview; readonly dimmed: boolean }) {
  const { consequences } = preview;
  if (consequences === undefined) return null;
  return (
    <div aria-busy={dimmed} className={dimmed ? "opacity-50" : ""}>
      {preview.preview_again != null && (
        <p role="alert" className="mb-3 rounded-md border border-needs px-3 py-2 text-needs">
          {AGAIN[preview.preview_again]}
        </p>
      )}
      <ConsequenceLists consequences={consequences} />
      <Conflicts conflicts={consequences.conflicts} draft={draft} onLook={onLook} />
      <div className="mb-3 flex flex-wrap items-center gap-x-2">
        <Info label="how">
          <p>
            Only paths that this run changed are touched. Everything that goes is saved in a safety checkpoint first, from which
            it can be brought back byte for byte. Commits left behind stay under a hidden ref of the repository.
          </p>
          {preview.expires_at !== undefined && <Expiry at={preview.expires_at} />}
        </Info>
      </div>
    </div>
  );
}

function Expiry({ at }: { readonly at: string }) {
  const ahead = useIsAhead(at);
  return (
    <p className="mt-1">
      {ahead ? `What is shown can be confirmed until ${clockTime(at)}.` : "What is shown expired; confirming looks again first."}
    </p>
  );
}

/** Paths that others changed since stay as they are, unless they are named: then it is looked up anew with them. */
function Conflicts({
  conflicts,
  draft,
  onLook,
}: Part & { readonly conflicts: readonly { readonly path: string; readonly changed_by: string }[] }) {
  const [chosen, setChosen] = useState<readonly string[]>(draft.overwrite);
  const named = [
    ...conflicts.map((one) => one.path),
    ...draft.overwrite.filter((path) => !conflicts.some((one) => one.path === path)),
  ];
  if (named.length === 0) return null;
  const same = chosen.length === draft.overwrite.length && chosen.every((path) => draft.overwrite.includes(path));
  return (
    <section className="mb-3">
      <h3 className="text-[13px] font-semibold">Conflicts</h3>
      <p className="text-[13px] text-soft">
        Changed by somebody else since. They stay as they are, unless you choose to overwrite them.
      </p>
      {named.map((path) => {
        const conflict = conflicts.find((one) => one.path === path);
        return (
          <Check
            key={path}
            label={<span className="font-mono text-[12px]">{path}</span>}
            hint={conflict === undefined ? "will be overwritten" : `changed by ${conflict.changed_by}`}
            checked={chosen.includes(path)}
            onChange={(on) => setChosen(on ? [...chosen, path] : chosen.filter((one) => one !== path))}
          />
        );
      })}
      {!same && (
        <Button className="mt-1" onClick={() => onLook({ ...draft, overwrite: chosen })}>
          Look again with {chosen.length === 0 ? "none" : chosen.length} overwritten
        </Button>
      )}
    </section>
  );
}

function Done({ answer, title, onClose }: { readonly answer: Preview; readonly title: string; readonly onClose: () => void }) {
  useEffect(() => announce(answer.summary), [answer.summary]);
  return (
    <Dialog title={`${title}: done`} onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
      <p className="mb-3">{answer.summary}</p>
      {answer.reset !== undefined && (
        <>
          <List title="Put back" items={answer.reset.restored} />
          <List title="Removed" items={answer.reset.removed} />
          <List title="Kept as others left it" items={answer.reset.kept} />
          <p className="text-[13px] text-soft">
            Everything that went is in checkpoint <span className="font-mono">{answer.reset.safety_checkpoint}</span>; a reset to
            it brings it back.
          </p>
        </>
      )}
    </Dialog>
  );
}
