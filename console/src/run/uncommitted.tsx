import type { Explanation } from "../../../src/tools/run-explain-stop.ts";
import { plural } from "../ledger/words.ts";
import { LineCounts } from "../ui/line-counts.tsx";

const OWNERS: Readonly<Record<Explanation["uncommitted"]["files"][number]["owner"], string>> = {
  this_run: "this run",
  other_run: "another run",
  unattributed: "of unknown origin",
};

/** What was not committed at the stop, and whose it is. */
export function Uncommitted({ uncommitted }: { readonly uncommitted: Explanation["uncommitted"] }) {
  if (uncommitted.total_files === 0) return null;
  return (
    <details className="mt-3 text-[13px]">
      <summary className="cursor-pointer">
        <span className="font-semibold text-soft">Uncommitted </span>
        {plural(uncommitted.total_files, "file")}, <span className="text-good">+{uncommitted.added}</span>{" "}
        <span className="text-bad">−{uncommitted.removed}</span>
        {uncommitted.checkpoint !== null && <span className="text-soft"> · saved in checkpoint {uncommitted.checkpoint}</span>}
      </summary>
      <table className="mt-1 w-full">
        <thead className="sr-only">
          <tr>
            <th>file</th>
            <th>lines</th>
            <th>whose</th>
          </tr>
        </thead>
        <tbody>
          {uncommitted.files.map((file) => (
            <tr key={file.path} className="border-t border-line align-baseline">
              <td className="py-0.5 pr-3 font-mono text-[12px] break-all">
                <span className="mr-2 text-soft">{file.status}</span>
                {file.path}
              </td>
              <td className="py-0.5 pr-3 text-right whitespace-nowrap">
                <LineCounts file={file} />
              </td>
              <td className={`py-0.5 whitespace-nowrap ${file.owner === "this_run" ? "text-soft" : "text-needs"}`}>
                {OWNERS[file.owner]}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {uncommitted.total_files > uncommitted.files.length && (
        <p className="mt-1 text-soft">{uncommitted.total_files - uncommitted.files.length} more are under Changes.</p>
      )}
    </details>
  );
}
