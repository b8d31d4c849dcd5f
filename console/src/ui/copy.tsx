import { announce } from "./announce.tsx";
import { CopyIcon } from "./icons.tsx";

/** A text that a click copies; `shown` is a short form of it. */
export function Copyable({ text, shown, what }: { readonly text: string; readonly shown?: string; readonly what: string }) {
  return (
    <button
      type="button"
      title={`Copy ${what}: ${text}`}
      className="group inline-flex max-w-full cursor-pointer items-center gap-1 rounded font-mono text-[12px] text-soft hover:text-ink"
      onClick={() => {
        void navigator.clipboard.writeText(text).then(
          () => announce(`Copied ${what}.`),
          () => announce(`The browser does not let ${what} be copied.`, "bad"),
        );
      }}
    >
      <span className="truncate">{shown ?? text}</span>
      <span className="opacity-60 group-hover:opacity-100">
        <CopyIcon />
      </span>
    </button>
  );
}

/** `run_4k2f…`: enough to tell runs apart by eye. */
export const shortId = (id: string): string => (id.length <= 12 ? id : `${id.slice(0, 10)}…`);
