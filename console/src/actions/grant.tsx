import { useState } from "react";
import { plural } from "../ledger/words.ts";
import { announce } from "../ui/announce.tsx";
import { Check } from "../ui/field.tsx";
import { type DeedAnswer, useDeed } from "./deed.ts";
import { ActionFrame } from "./frame.tsx";
import { IterationsField } from "./iterations-field.tsx";
import { iterationsIn } from "./number.ts";
import type { ActionProps } from "./props.ts";

interface Granted extends DeedAnswer {
  readonly granted: { readonly iterations: number; readonly max_iterations: number };
  readonly not_continued_because: string | null;
}

export function GrantDialog({ head, lookAgain, onClose }: ActionProps) {
  const { run } = head;
  const live = run.state === "running" || run.state === "queued";
  const ceiling = run.stop_reason === "max_iterations" && !live;
  const [text, setText] = useState("10");
  const [goOn, setGoOn] = useState(true);
  const [notContinued, setNotContinued] = useState<string | null>(null);
  const number = iterationsIn(text);
  // A live run moves by itself; what is granted does not depend on where it is.
  const deed = useDeed<Granted>({ run_id: run.run_id, path: "grant" }, live ? null : run.revision, lookAgain);

  async function grant(): Promise<void> {
    if (number === null) return;
    const answer = await deed.send({ iterations: number, ...(ceiling && !goOn ? { continue: false } : {}) });
    if (answer === null) return;
    if (answer.not_continued_because !== null && ceiling && goOn) return setNotContinued(answer.not_continued_because);
    announce(answer.summary);
    onClose();
  }

  const goes = ceiling && goOn;
  return (
    <ActionFrame
      title="Grant iterations"
      objective={head.objective}
      deed={number === null ? "Grant" : goes ? `Grant ${number} and go on` : `Grant ${number}`}
      pending={deed.pending}
      ready={number !== null && notContinued === null}
      problem={deed.problem}
      stale={deed.stale}
      onDo={() => void grant()}
      onClose={onClose}
    >
      <IterationsField value={text} required hint="Added to the ceiling, not a new total; 1 to 200." onChange={setText} />
      {ceiling && (
        <Check
          label="Go on at once, as it was"
          hint="With its own context and files, and without a new instruction."
          checked={goOn}
          onChange={setGoOn}
        />
      )}
      <p className="mt-2 text-[13px] text-soft">
        {run.iteration} of {run.max_iterations} iterations are used.{" "}
        {number !== null &&
          `The ceiling becomes ${run.max_iterations + number}: ${plural(run.max_iterations + number - run.iteration, "iteration")} left.`}{" "}
        {live ? "It goes on as it does." : !ceiling && "That only widens the ceiling; Resume continues it."}
      </p>
      {notContinued !== null && (
        <p role="alert" className="mt-2 rounded-md border border-needs px-3 py-2 text-[13px] text-needs">
          Granted, but it does not go on: {notContinued}
        </p>
      )}
    </ActionFrame>
  );
}
