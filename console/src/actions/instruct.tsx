import { useState } from "react";
import { announce } from "../ui/announce.tsx";
import { Field, inputClass } from "../ui/field.tsx";
import { type DeedAnswer, useDeed } from "./deed.ts";
import { ActionFrame } from "./frame.tsx";
import type { ActionProps } from "./props.ts";

export function InstructDialog({ head, lookAgain, onClose }: ActionProps) {
  const { run } = head;
  const [text, setText] = useState("");
  const deed = useDeed<DeedAnswer>({ run_id: run.run_id, path: "instruct" }, null, lookAgain);
  const live = run.state !== "stopped";

  async function instruct(): Promise<void> {
    const answer = await deed.send({ instructions: text });
    if (answer === null) return;
    announce(answer.summary);
    onClose();
  }

  return (
    <ActionFrame
      title="Instruct"
      objective={head.objective}
      deed={live ? "Leave the instructions" : "Leave them for the resume"}
      pending={deed.pending}
      ready={text.trim() !== ""}
      problem={deed.problem}
      stale={deed.stale}
      onDo={() => void instruct()}
      onClose={onClose}
    >
      <Field
        label="Instructions"
        required
        hint={
          live
            ? "The agent gets them once, at the beginning of its next iteration. Nothing is stopped or started."
            : "They wait until the run is resumed, and count as its instructions. Nothing is started."
        }
        render={(ids) => (
          <textarea
            {...ids}
            rows={5}
            maxLength={100_000}
            value={text}
            onChange={(event) => setText(event.target.value)}
            className={inputClass}
          />
        )}
      />
    </ActionFrame>
  );
}
