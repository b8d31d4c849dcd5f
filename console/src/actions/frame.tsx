import type { ReactNode } from "react";
import { Button, type ButtonProps } from "../ui/button.tsx";
import { withLocalTimes } from "../ui/clock.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Fault } from "../ui/notice.tsx";

/** What all dialogs of actions have: whose run it is, what went wrong, and one button that says the deed. */
export function ActionFrame({
  title,
  objective,
  deed,
  look = "primary",
  pending,
  ready,
  problem,
  stale,
  extra,
  children,
  onDo,
  onClose,
}: {
  readonly title: string;
  readonly objective: string;
  readonly deed: string;
  readonly look?: ButtonProps["look"];
  readonly pending: boolean;
  readonly ready: boolean;
  readonly problem: Error | null;
  readonly stale: boolean;
  readonly extra?: ReactNode;
  readonly children: ReactNode;
  readonly onDo: () => void;
  readonly onClose: () => void;
}) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          {extra}
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button look={look} disabled={!ready || pending} aria-busy={pending} onClick={onDo}>
            {pending ? "Working…" : deed}
          </Button>
        </>
      }
    >
      <p className="mb-3 line-clamp-2 text-[13px] text-soft">{objective}</p>
      {children}
      {stale && (
        <p role="alert" className="mt-2 rounded-md border border-needs px-3 py-2 text-[13px] text-needs">
          The run moved since you looked. It was read anew; what you typed is still here. Look again, then send it.
        </p>
      )}
      {problem !== null && (
        <div className="mt-2">
          <Fault>{withLocalTimes(problem.message)}</Fault>
        </div>
      )}
    </Dialog>
  );
}

/** An action that the run does not allow any more. */
export function Refused({ title, why, onClose }: { readonly title: string; readonly why: string; readonly onClose: () => void }) {
  return (
    <Dialog title={title} onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
      <p>That is not possible: {withLocalTimes(why)}</p>
    </Dialog>
  );
}
