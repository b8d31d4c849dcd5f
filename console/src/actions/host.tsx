import { type ReactNode, useMemo, useState } from "react";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { type PartFault, part } from "../ui/part.tsx";
import { WantContext, type Wanted } from "./want.ts";

const ActionDialog = part(async () => (await import("./dialogs.tsx")).ActionDialog, null, DialogFault);

/** One dialog at a time, over whatever page. */
export function ActionHost({ children }: { readonly children: ReactNode }) {
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const want = useMemo(() => (next: Wanted) => setWanted(next), []);
  return (
    <WantContext value={want}>
      {children}
      {wanted !== null && <ActionDialog wanted={wanted} onClose={() => setWanted(null)} />}
    </WantContext>
  );
}

function DialogFault({ again, onClose }: PartFault & { readonly onClose: () => void }) {
  return (
    <Dialog
      title="The server cannot be reached"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button onClick={again}>Try again</Button>
        </>
      }
    >
      <p>What was chosen needs it. Nothing was done, and the run goes on as it is.</p>
    </Dialog>
  );
}
