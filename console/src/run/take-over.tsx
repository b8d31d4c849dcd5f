import type { Head } from "../../../src/tools/view-head.ts";
import { plural } from "../ledger/words.ts";
import { Copyable } from "../ui/copy.tsx";

/** How the work of a done run gets into one's own branch. */
export function TakeOver({ takeOver }: { readonly takeOver: NonNullable<Head["take_over"]> }) {
  if (takeOver.commands.length === 0) return null;
  return (
    <section aria-label="Take the work over" className="mt-3 rounded-lg border border-line px-4 py-2.5">
      <h2 className="text-[14px] font-semibold">Take the work over</h2>
      <p className="text-[13px] text-soft">
        {plural(takeOver.commits, "commit")} on{" "}
        <span className="font-mono">{takeOver.branch?.replace("refs/heads/", "") ?? "a detached HEAD"}</span>
        {takeOver.uncommitted_files > 0 && `, ${plural(takeOver.uncommitted_files, "file")} uncommitted`}
      </p>
      <ul className="mt-1 space-y-1">
        {takeOver.commands.map((command) => (
          <li key={command} className="overflow-hidden rounded bg-raised px-2 py-1">
            <Copyable text={command} what="the command" />
          </li>
        ))}
      </ul>
    </section>
  );
}
