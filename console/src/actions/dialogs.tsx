import { useEffect, useState } from "react";
import type { OfferView } from "../../../src/tools/offer.ts";
import type { Head } from "../../../src/tools/view-head.ts";
import { useHead } from "../api/queries.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Fault, Skeleton } from "../ui/notice.tsx";
import { ArchiveDialog } from "./archive.tsx";
import { ConsequencesDialog } from "./consequences.tsx";
import { Refused } from "./frame.tsx";
import { GrantDialog } from "./grant.tsx";
import { InstructDialog } from "./instruct.tsx";
import type { ActionProps } from "./props.ts";
import { ReclaimDialog } from "./reclaim.tsx";
import { ResumeDialog } from "./resume.tsx";
import { StopDialog } from "./stop.tsx";
import type { Wanted } from "./want.ts";

const TITLES: Readonly<Record<OfferView["action"], string>> = {
  resume: "Resume",
  answer: "Answer",
  grant: "Grant iterations",
  redo: "Redo",
  reset: "Reset",
  stop: "Stop",
  instruct: "Instruct",
  archive: "Archive",
  reclaim: "Free its workspace",
};

const DIALOGS: Readonly<Record<OfferView["action"], (props: ActionProps) => React.JSX.Element>> = {
  resume: ResumeDialog,
  answer: ResumeDialog,
  grant: GrantDialog,
  redo: ConsequencesDialog,
  reset: ConsequencesDialog,
  stop: StopDialog,
  instruct: InstructDialog,
  archive: ArchiveDialog,
  reclaim: ReclaimDialog,
};

/**
 * The dialog of an action, on the run as it is when it opens. The page behind may move on; what the person looks at here does
 * not, and the call says which revision that was.
 */
export function ActionDialog({ wanted, onClose }: { readonly wanted: Wanted; readonly onClose: () => void }) {
  const query = useHead(wanted.run_id);
  const [seen, setSeen] = useState<Head | null>(null);
  const [again, setAgain] = useState(false);
  const { data, isFetching, error } = query;
  useEffect(() => {
    if (seen === null && data !== undefined && !isFetching) setSeen(data);
  }, [seen, data, isFetching]);
  const title = TITLES[wanted.action];
  if (seen === null) {
    return (
      <Dialog title={title} onClose={onClose} footer={<Button onClick={onClose}>Cancel</Button>}>
        {error === null ? <Skeleton lines={3} label="Loading the run" /> : <Fault>{error.message}</Fault>}
      </Dialog>
    );
  }
  const offer = seen.actions.find((one) => one.action === wanted.action);
  // Once something was typed, a refusal is told beside it and takes nothing away.
  if (offer !== undefined && !offer.allowed && !again)
    return <Refused title={title} why={offer.why ?? "the run does not allow it."} onClose={onClose} />;
  const Chosen = DIALOGS[wanted.action];
  const lookAgain = async (): Promise<void> => {
    const { data: fresh } = await query.refetch();
    if (fresh === undefined) return;
    setAgain(true);
    setSeen(fresh);
  };
  return <Chosen wanted={wanted} head={seen} lookAgain={lookAgain} onClose={onClose} />;
}
