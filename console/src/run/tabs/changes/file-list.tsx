import type { ChangeList } from "../../../../../src/tools/view-changes.ts";
import { LineCounts } from "../../../ui/line-counts.tsx";
import { many } from "../format.ts";

type File = ChangeList["files"][number];

const STATUS: Record<File["status"], { readonly letter: string; readonly ink: string; readonly words: string }> = {
  added: { letter: "A", ink: "text-good", words: "added" },
  modified: { letter: "M", ink: "text-busy", words: "modified" },
  deleted: { letter: "D", ink: "text-bad", words: "deleted" },
  renamed: { letter: "R", ink: "text-needs", words: "renamed" },
  type_changed: { letter: "T", ink: "text-needs", words: "changed its type" },
};
const OWNERS: Record<File["owner"], { readonly sign: string; readonly words: string }> = {
  this_run: { sign: "", words: "left so by this run" },
  other_run: { sign: "another run", words: "left so by another run" },
  unattributed: { sign: "others", words: "not known to be of this run" },
};

export function FileList({
  files,
  total,
  shown,
  onPath,
  more,
  reading,
}: {
  readonly files: readonly File[];
  readonly total: number;
  /** Null while none of them is. */
  readonly shown: string | null;
  readonly onPath: (path: string) => void;
  readonly more: (() => void) | null;
  readonly reading: boolean;
}) {
  return (
    <nav
      aria-label="Files that differ"
      className="max-h-[min(75vh,56rem)] self-start overflow-y-auto rounded border border-line max-lg:max-h-60"
    >
      <ul>
        {files.map((file) => (
          <li key={file.path} className="border-b border-line/60 last:border-b-0">
            <button
              type="button"
              aria-current={file.path === shown ? "true" : undefined}
              onClick={() => onPath(file.path)}
              className={`flex w-full items-baseline gap-2 px-2 py-1 text-left ${file.path === shown ? "bg-raised" : "hover:bg-raised"}`}
            >
              <span className={`w-3 shrink-0 text-xs font-medium ${STATUS[file.status].ink}`} title={STATUS[file.status].words}>
                <span aria-hidden="true">{STATUS[file.status].letter}</span>
                <span className="sr-only">{STATUS[file.status].words}</span>
              </span>
              <span className="flex min-w-0 flex-1 items-baseline gap-2" title={`${file.path}: ${OWNERS[file.owner].words}`}>
                <Path path={file.path} strong={file.path === shown} />
                {file.owner !== "this_run" && (
                  <span className="shrink-0 rounded-sm border border-line px-1 text-xs text-needs">
                    {OWNERS[file.owner].sign}
                  </span>
                )}
              </span>
              <span className="shrink-0 text-xs">
                <LineCounts file={file} />
              </span>
            </button>
          </li>
        ))}
      </ul>
      {more !== null && (
        <button type="button" onClick={more} className="w-full px-2 py-1.5 text-left text-accent hover:bg-raised">
          {reading ? "Reading…" : `${many(total - files.length, "more file")}`}
        </button>
      )}
    </nav>
  );
}

/** The name is what a reader looks for; its folders come second. */
function Path({ path, strong }: { readonly path: string; readonly strong: boolean }) {
  const cut = path.lastIndexOf("/") + 1;
  return (
    <span className="min-w-0 truncate text-left [direction:rtl]">
      <bdi>
        <span className="text-soft">{path.slice(0, cut)}</span>
        <span className={strong ? "font-medium" : ""}>{path.slice(cut)}</span>
      </bdi>
    </span>
  );
}
