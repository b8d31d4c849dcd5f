import { useState } from "react";
import { announce } from "../ui/announce.tsx";
import { Button } from "../ui/button.tsx";
import { type DeedAnswer, useDeed } from "./deed.ts";
import { ActionFrame } from "./frame.tsx";
import type { ActionProps } from "./props.ts";
import { useWant } from "./want.ts";

export function ArchiveDialog({ head, lookAgain, onClose }: ActionProps) {
  const { run } = head;
  const want = useWant();
  const [away] = useState(run.archived_at === null);
  const deed = useDeed<DeedAnswer>({ run_id: run.run_id, path: "archive" }, run.revision, lookAgain);

  async function archive(): Promise<void> {
    const answer = await deed.send({ archived: away });
    if (answer === null) return;
    announce(answer.summary);
    onClose();
  }

  return (
    <ActionFrame
      title={away ? "Archive" : "Bring back"}
      objective={head.objective}
      deed={away ? "Archive" : "Bring it back"}
      pending={deed.pending}
      ready
      problem={deed.problem}
      stale={deed.stale}
      extra={
        away &&
        run.reclaimed_at === null && (
          <Button look="quiet" onClick={() => want({ action: "reclaim", run_id: run.run_id })}>
            Free its workspace too…
          </Button>
        )
      }
      onDo={() => void archive()}
      onClose={onClose}
    >
      {away ? (
        <p>
          It leaves the ledger, briefs no new run and cannot be resumed until it is brought back. Record, transcript, workspace
          and checkpoints stay.
        </p>
      ) : (
        <p>
          It stands in the ledger again
          {run.reclaimed_at === null ? " and can be resumed." : ". Its workspace was freed, so it can be read but not resumed."}
        </p>
      )}
    </ActionFrame>
  );
}
