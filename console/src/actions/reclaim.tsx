import { useEffect, useState } from "react";
import { bytesText } from "../../../src/run/bytes.ts";
import type { ReclaimPreview } from "../../../src/tools/view-reclaim-preview.ts";
import { read } from "../api/client.ts";
import { announce } from "../ui/announce.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Info } from "../ui/info.tsx";
import { Fault, Skeleton } from "../ui/notice.tsx";
import { ConsequenceLists } from "./consequence-lists.tsx";
import { type DeedAnswer, useDeed } from "./deed.ts";
import { ActionFrame } from "./frame.tsx";
import { List } from "./list.tsx";
import { useLook } from "./look.ts";
import type { ActionProps } from "./props.ts";

interface Archived extends DeedAnswer {
  readonly kept: readonly string[];
  readonly freed: readonly string[];
}

const TITLE = "Free its workspace";

/** Freeing a run's workspace: what goes and what stays is looked up and shown; the deed holds the revision that was looked at. */
export function ReclaimDialog({ head, lookAgain, onClose }: ActionProps) {
  const { run } = head;
  const { preview, looking, fault, look } = useLook(
    () => read<ReclaimPreview>(`/api/runs/${encodeURIComponent(run.run_id)}/reclaim_preview`),
    null,
  );
  const [done, setDone] = useState<Archived | null>(null);
  const deed = useDeed<Archived>({ run_id: run.run_id, path: "archive" }, preview?.revision ?? run.revision, async () => {
    await lookAgain();
    await look(null);
  });
  const frees = preview !== null && preview.frees !== false;

  async function carryOut(): Promise<void> {
    const answer = await deed.send({ reclaim: frees });
    if (answer === null) return;
    if (frees) return setDone(answer);
    announce(answer.summary);
    onClose();
  }

  if (done !== null) return <Done answer={done} onClose={onClose} />;
  return (
    <ActionFrame
      title={TITLE}
      objective={head.objective}
      deed={preview === null ? TITLE : deedName(preview)}
      look={frees ? "danger" : "primary"}
      pending={deed.pending}
      ready={preview !== null && !looking && (frees || !preview.archived)}
      problem={deed.problem}
      stale={deed.stale}
      extra={
        preview?.frees === false && (
          <Button look="quiet" disabled={looking} onClick={() => void look(null)}>
            Look again
          </Button>
        )
      }
      onDo={() => void carryOut()}
      onClose={onClose}
    >
      {looking && preview === null && <Skeleton lines={4} label="Looking what would happen" />}
      {fault !== null && <Fault>{fault.message}</Fault>}
      {preview !== null && <Shown preview={preview} dimmed={looking} />}
    </ActionFrame>
  );
}

/** The deed by its name: what the button says is what happens. */
function deedName({ frees, archived, freed_bytes }: ReclaimPreview): string {
  if (frees === null) return "Go on with freeing it";
  if (!frees) return "Only archive it";
  return archived ? `Free ${bytesText(freed_bytes)}` : `Archive and free ${bytesText(freed_bytes)}`;
}

function Shown({ preview, dimmed }: { readonly preview: ReclaimPreview; readonly dimmed: boolean }) {
  const { frees, kept, passing } = preview;
  return (
    <div aria-busy={dimmed} className={dimmed ? "opacity-50" : ""}>
      <ConsequenceLists consequences={preview.consequences} />
      {frees !== true && <List title="Why it stays" items={kept} />}
      {frees === false && passing && kept.length > 0 && <p className="mb-3">That passes by itself: look again in a moment.</p>}
      <div className="mb-3 flex flex-wrap items-center gap-x-2">
        <Info label="how">
          <p>
            It is all or nothing, and never by force: as long as one thing of the run exists nowhere else - not committed, not
            pushed or merged, ignored, stashed - all of it stays. The worktree is looked at once more when it goes, and what
            changed until then keeps it.
          </p>
        </Info>
      </div>
    </div>
  );
}

function Done({ answer, onClose }: { readonly answer: Archived; readonly onClose: () => void }) {
  useEffect(() => announce(answer.summary), [answer.summary]);
  return (
    <Dialog title={`${TITLE}: done`} onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
      <p className="mb-2">{answer.summary}</p>
      <List title="Freed" items={answer.freed} />
      <List title="Kept, because it is needed or exists nowhere else" items={answer.kept} />
    </Dialog>
  );
}
