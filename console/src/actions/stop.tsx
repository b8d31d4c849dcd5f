import { useState } from "react";
import { announce } from "../ui/announce.tsx";
import { clockTime } from "../ui/clock.ts";
import { Choice, Field, inputClass } from "../ui/field.tsx";
import { type DeedAnswer, useDeed } from "./deed.ts";
import { ActionFrame } from "./frame.tsx";
import type { ActionProps } from "./props.ts";

const MODES = [
  { value: "now", label: "Now", hint: "Ends the turn and everything that it started. Work, context and diff are saved first." },
  { value: "after_iteration", label: "After this iteration", hint: "Lets the present iteration come to its end." },
] as const;

export function StopDialog({ head, lookAgain, onClose }: ActionProps) {
  const { run } = head;
  const waits = run.state === "stopped" && run.waiting_until !== null;
  const [mode, setMode] = useState<"now" | "after_iteration">("now");
  const [why, setWhy] = useState("");
  // It moves by itself meanwhile, and is to be stopped all the same.
  const deed = useDeed<DeedAnswer>({ run_id: run.run_id, path: "stop" }, null, lookAgain);

  async function stop(): Promise<void> {
    const answer = await deed.send({ ...(waits ? {} : { mode }), ...(why.trim() === "" ? {} : { why: why.trim() }) });
    if (answer === null) return;
    announce(waits ? "It does not go on by itself any more." : answer.summary);
    onClose();
  }

  const name = waits ? "Cancel the wait" : "Stop";
  return (
    <ActionFrame
      title={name}
      objective={head.objective}
      deed={waits ? name : mode === "now" ? "Stop now" : "Stop after this iteration"}
      pending={deed.pending}
      ready
      problem={deed.problem}
      stale={deed.stale}
      onDo={() => void stop()}
      onClose={onClose}
    >
      {waits ? (
        <p className="mb-3">
          It would go on by itself at {clockTime(run.waiting_until ?? "")}. It stays as it is instead, until somebody resumes it.
        </p>
      ) : (
        <Choice legend="When" options={MODES} value={mode} onChange={setMode} />
      )}
      <Field
        label="Why"
        hint="Kept in the record. Stopping undoes nothing; the run can be resumed."
        render={(ids) => (
          <input {...ids} maxLength={2_000} value={why} onChange={(event) => setWhy(event.target.value)} className={inputClass} />
        )}
      />
    </ActionFrame>
  );
}
