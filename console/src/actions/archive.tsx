import { useState } from "react";
import { announce } from "../ui/announce.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Check } from "../ui/field.tsx";
import { type DeedAnswer, useDeed } from "./deed.ts";
import { ActionFrame } from "./frame.tsx";
import { List } from "./list.tsx";
import type { ActionProps } from "./props.ts";

interface Archived extends DeedAnswer {
  readonly kept: readonly string[];
  readonly freed: readonly string[];
}

export function ArchiveDialog({ head, lookAgain, onClose }: ActionProps) {
  const { run } = head;
  const [away] = useState(run.archived_at === null);
  const [reclaim, setReclaim] = useState(false);
  const [result, setResult] = useState<Archived | null>(null);
  const deed = useDeed<Archived>({ run_id: run.run_id, path: "archive" }, run.revision, lookAgain);

  async function archive(): Promise<void> {
    const answer = await deed.send(away ? { reclaim } : { archived: false });
    if (answer === null) return;
    if (reclaim) return setResult(answer);
    announce(answer.summary);
    onClose();
  }

  if (result !== null)
    return (
      <Dialog title="Archived" onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
        <p className="mb-2">{result.summary}</p>
        <List title="Freed" items={result.freed} />
        <List title="Kept, because it is needed or exists nowhere else" items={result.kept} />
      </Dialog>
    );
  return (
    <ActionFrame
      title={away ? "Archive" : "Bring back"}
      objective={head.objective}
      deed={away ? (reclaim ? "Archive and free its workspace" : "Archive") : "Bring it back"}
      pending={deed.pending}
      ready
      problem={deed.problem}
      stale={deed.stale}
      onDo={() => void archive()}
      onClose={onClose}
    >
      {away ? (
        <>
          <p className="mb-3">
            It leaves the ledger, briefs no new run and cannot be resumed until it is brought back. Record, transcript and
            checkpoints stay readable.
          </p>
          <Check
            label="Free its workspace and the agent's files too"
            hint="Never by force: as long as anything is uncommitted, unpushed or exists nowhere else, all of it stays and is named. What is freed does not come back."
            checked={reclaim}
            onChange={setReclaim}
          />
        </>
      ) : (
        <p>
          It stands in the ledger again
          {run.reclaimed_at === null ? " and can be resumed." : ". Its workspace was freed, so it can be read but not resumed."}
        </p>
      )}
    </ActionFrame>
  );
}
