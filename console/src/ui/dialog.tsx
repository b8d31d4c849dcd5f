import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { Button } from "./button.tsx";
import { CloseIcon } from "./icons.tsx";

/** Whoever opens a dialog with something to fill in begins there, and not at the button that closes it. */
const FIRST_FIELD = ":is(input, textarea, select):not(details:not([open]) *)";

/**
 * The browser's own modal dialog: it keeps the focus inside, gives it back, and makes the page behind it inert, without a style
 * or a script that the page's policy would have to let in. A click beside it does not close it: what was typed would be gone.
 */
export function Dialog({
  title,
  children,
  footer,
  onClose,
}: {
  readonly title: string;
  readonly children: ReactNode;
  readonly footer: ReactNode;
  readonly onClose: () => void;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // While it is still in the page, closing gives the focus back to where it came from; a dialog that takes this one's place finds it there.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>(FIRST_FIELD)?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      className="m-auto flex max-h-[min(88dvh,52rem)] w-[min(40rem,calc(100vw-1.5rem))] flex-col rounded-lg border border-line bg-ground p-0 text-ink shadow-2xl backdrop:bg-black/45 not-open:hidden"
    >
      <header className="flex items-center justify-between gap-3 border-b border-line px-4 py-2.5">
        <h2 id={heading} className="text-[15px] font-semibold">
          {title}
        </h2>
        <Button look="quiet" aria-label="Close" className="px-1.5" onClick={onClose}>
          <CloseIcon />
        </Button>
      </header>
      <div className="grow overflow-y-auto px-4 py-3">{children}</div>
      <footer className="flex flex-wrap items-center justify-end gap-2 border-t border-line bg-raised px-4 py-2.5">
        {footer}
      </footer>
    </dialog>
  );
}
