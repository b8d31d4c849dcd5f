import type { ReactNode } from "react";
import { Link } from "react-router";
import type { EntryView } from "../../../../../src/tools/view-entries.ts";
import { ScrollRegion } from "../../../ui/scroll-region.tsx";
import { many } from "../format.ts";
import { keyed } from "../keyed.ts";
import { Marked, useOpen, useReadOn } from "./folded.tsx";

interface Shown {
  readonly runId: string;
  readonly entry: EntryView;
  readonly needle: string;
  /** Folder of the run's working tree. */
  readonly workspace: string;
}

/** One thing said or done. What a run is about stands open: words, calls, reports. Thoughts and outputs are one line until asked for. */
export function Entry({ runId, entry, needle, workspace, lit }: Shown & { readonly lit: boolean }) {
  const opensIteration = entry.kind === "prompt" && entry.who === "loop";
  return (
    <article className={`border-b border-line/50 ${lit ? "bg-accent/10" : ""}`}>
      {opensIteration && <h3 className="bg-raised px-3 py-1 text-xs font-medium">Iteration {entry.iteration}</h3>}
      <div className="flex gap-3 px-3 py-1.5">
        <Link
          to={`/runs/${runId}/transcript?n=${entry.n}`}
          replace
          title={`Entry ${entry.n}, iteration ${entry.iteration}, ${entry.at}`}
          className="w-14 shrink-0 pt-0.5 text-right text-xs text-soft hover:text-accent max-sm:w-10"
        >
          {entry.n}
        </Link>
        <div className="min-w-0 flex-1">
          <Body runId={runId} entry={entry} needle={needle} workspace={workspace} />
        </div>
      </div>
    </article>
  );
}

function Body(shown: Shown) {
  const { entry } = shown;
  switch (entry.kind) {
    case "message":
      return <Words {...shown} />;
    case "prompt":
      return (
        <Kept tone="border-l-accent" label={entry.who === "owner" ? "The owner's instructions" : "Loopkeeper to the agent"}>
          <Fold {...shown} lines="line-clamp-3" />
        </Kept>
      );
    case "thought":
      return <Fold {...shown} lines="line-clamp-1" className="text-soft italic" label="thought" />;
    case "tool_call":
      return <ToolCall {...shown} />;
    case "tool_result":
      return <ToolOutput {...shown} />;
    case "plan":
      return <PlanList {...shown} />;
    case "report":
      return <Report {...shown} />;
    case "verify":
      return <Check {...shown} />;
    case "permission":
      return (
        <Kept tone="border-l-needs" label="Permission">
          <Fold {...shown} lines="line-clamp-4" />
        </Kept>
      );
    case "gap":
      return (
        <Kept tone="border-l-bad" label="Missing">
          <Words {...shown} />
        </Kept>
      );
    case "usage":
    case "engine":
      return <Fold {...shown} lines="line-clamp-1" className="text-xs text-soft" label={entry.kind} />;
  }
}

function Report(shown: Shown) {
  const { entry, needle } = shown;
  const { report } = entry;
  if (report === null)
    return (
      <Kept tone="border-l-good" label="The agent reports">
        <Fold {...shown} lines="line-clamp-4" />
      </Kept>
    );
  const lists = [
    { name: "Completed", items: report.completed },
    { name: "Mid-way", items: report.midway === null ? [] : [report.midway] },
    { name: "Intended", items: report.intended },
    { name: "Asks", items: report.question === null ? [] : [report.question] },
  ].filter(({ items }) => items.length > 0);
  return (
    <Kept
      tone="border-l-good"
      label={`The agent reports${report.verdict === null ? "" : `: ${report.verdict.replace("_", " ")}`}`}
    >
      {report.summary !== null && (
        <p className="whitespace-pre-wrap break-words">
          <Marked text={report.summary} needle={needle} />
        </p>
      )}
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 text-[13px]">
        {lists.map(({ name, items }) => (
          <div key={name} className="contents">
            <dt className="text-soft">{name}</dt>
            <dd className="break-words">
              <Marked text={items.join(" · ")} needle={needle} />
            </dd>
          </div>
        ))}
      </dl>
    </Kept>
  );
}

function Kept({ tone, label, children }: { readonly tone: string; readonly label: string; readonly children: ReactNode }) {
  return (
    <div className={`border-l-2 pl-3 ${tone}`}>
      <p className="text-xs text-soft">{label}</p>
      {children}
    </div>
  );
}

function Words({ runId, entry, needle }: Pick<Shown, "runId" | "entry" | "needle">) {
  const { text, left, label, readOn } = useReadOn(runId, entry.n, entry.text, entry.characters);
  return (
    <>
      <p className="whitespace-pre-wrap break-words">
        <Marked text={text} needle={needle} />
      </p>
      {left && <More onClick={readOn}>{label}</More>}
    </>
  );
}

function More({ onClick, children }: { readonly onClick: () => void; readonly children: string }) {
  return (
    <button type="button" onClick={onClick} className="mt-1 text-xs text-accent hover:underline">
      {children}
    </button>
  );
}

/** A text of which the first lines stand until the rest is asked for. */
function Fold({
  runId,
  entry,
  needle,
  lines,
  className = "",
  label,
}: Pick<Shown, "runId" | "entry" | "needle"> & { readonly lines: string; readonly className?: string; readonly label?: string }) {
  const [open, toggle] = useOpen(`${runId}-${entry.n}`);
  const rest = useReadOn(runId, entry.n, entry.text, entry.characters);
  const short = entry.characters < 100 && !entry.text.trim().includes("\n");
  const hit = needle !== "" && entry.text.toLowerCase().includes(needle.toLowerCase());
  const shown = open || short || hit;
  const button = (
    <button type="button" aria-expanded={open} onClick={toggle} className="text-xs not-italic text-accent hover:underline">
      {open ? "Less" : "More"}
    </button>
  );
  return (
    <div className={className}>
      <div className="flex items-baseline gap-3">
        <p className={`min-w-0 whitespace-pre-wrap break-words ${shown ? "" : lines}`}>
          {label !== undefined && <span className="mr-2 text-xs not-italic text-soft">{label}</span>}
          <Marked text={shown ? rest.text : entry.text.slice(0, 600).trim()} needle={needle} />
        </p>
        {!short && !hit && button}
      </div>
      {shown && rest.left && <More onClick={rest.readOn}>{rest.label}</More>}
    </div>
  );
}

const STATUS: Record<string, { readonly sign: string; readonly ink: string; readonly words: string }> = {
  completed: { sign: "✓", ink: "text-good", words: "completed" },
  failed: { sign: "✕", ink: "text-bad", words: "failed" },
  in_progress: { sign: "◐", ink: "text-busy", words: "in progress" },
  pending: { sign: "○", ink: "text-soft", words: "begun" },
};

function Status({ status }: { readonly status: string | null }) {
  const known = STATUS[status ?? ""] ?? { sign: "○", ink: "text-soft", words: status ?? "end not seen" };
  return (
    <span className={`whitespace-nowrap text-xs ${known.ink}`} title={known.words}>
      <span aria-hidden="true">{known.sign}</span> <span className={status === "completed" ? "sr-only" : ""}>{known.words}</span>
    </span>
  );
}

/** A path of the run's own working tree, as it is called there. */
function within(path: string, workspace: string): string {
  return path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path;
}

function ToolCall(shown: Shown) {
  const { entry, needle } = shown;
  const title = entry.call?.title ?? entry.text.split("\n")[0] ?? "";
  const input = entry.text.startsWith(title) ? entry.text.slice(title.length).trim() : entry.text;
  const paths = (entry.call?.paths ?? []).map((path) => within(path, shown.workspace)).filter((path) => !title.includes(path));
  const [open, toggle] = useOpen(`${shown.runId}-${entry.n}`);
  return (
    <div>
      <p className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5">
        <span className="min-w-0 break-words font-mono text-[13px]">
          <span className="mr-2 rounded-sm bg-raised px-1.5 py-px font-sans text-xs text-soft">{entry.call?.kind ?? "tool"}</span>
          <Marked text={title} needle={needle} />
        </span>
        {entry.call?.status === "failed" && <Status status={entry.call.status} />}
        {paths.length > 0 && <span className="truncate font-mono text-xs text-soft">{paths.slice(0, 3).join(" ")}</span>}
        {input !== "" && (
          <button type="button" aria-expanded={open} onClick={toggle} className="text-xs text-accent hover:underline">
            {open ? "Hide input" : "Input"}
          </button>
        )}
      </p>
      {(open || (needle !== "" && input.toLowerCase().includes(needle.toLowerCase()))) && input !== "" && (
        <Output {...shown} entry={{ ...entry, text: input, characters: input.length }} />
      )}
    </div>
  );
}

function ToolOutput(shown: Shown) {
  const { entry, needle } = shown;
  const [open, toggle] = useOpen(`${shown.runId}-${entry.n}`);
  const lines = entry.text === "" ? 0 : entry.text.trimEnd().split("\n").length;
  const whole = entry.text.length >= entry.characters;
  const hit = needle !== "" && entry.text.toLowerCase().includes(needle.toLowerCase());
  return (
    <div>
      <p className="flex flex-wrap items-baseline gap-x-3">
        {lines === 0 ? (
          <span className="text-xs text-soft">no output</span>
        ) : (
          <button type="button" aria-expanded={open || hit} onClick={toggle} className="text-xs text-accent hover:underline">
            {open ? "Hide output" : `Output, ${whole ? many(lines, "line") : `${many(entry.characters, "character")}`}`}
          </button>
        )}
        <Status status={entry.call?.status ?? null} />
        {!open && !hit && <span className="min-w-0 flex-1 truncate font-mono text-xs text-soft">{entry.text.slice(0, 400)}</span>}
      </p>
      {(open || hit) && lines > 0 && <Output {...shown} />}
    </div>
  );
}

function Output({ runId, entry, needle }: Pick<Shown, "runId" | "entry" | "needle">) {
  const { text, left, label, readOn } = useReadOn(runId, entry.n, entry.text, entry.characters);
  return (
    <>
      <ScrollRegion label={`Text of entry ${entry.n}`} className="mt-1 max-h-96 overflow-auto rounded bg-raised px-3 py-2">
        <pre className="whitespace-pre-wrap break-words font-mono text-xs">
          <Marked text={text} needle={needle} />
        </pre>
      </ScrollRegion>
      {left && <More onClick={readOn}>{label}</More>}
    </>
  );
}

const MARKS: Record<string, string> = { completed: "✓", in_progress: "◐", pending: "○" };

function PlanList({ entry, needle }: Pick<Shown, "entry" | "needle">) {
  return (
    <ul className="border-l-2 border-l-line pl-3">
      <li className="text-xs text-soft">The agent's plan</li>
      {keyed(entry.text.split("\n"), (line) => line).map(({ key, item: line }) => {
        const [, status = "", content = line] = /^\[(\w+)\] (.*)$/u.exec(line) ?? [];
        return (
          <li key={key} className={status === "completed" ? "text-soft" : ""}>
            <span aria-hidden="true">{MARKS[status] ?? ""}</span>
            <span className="sr-only">{status.replace("_", " ")}</span> <Marked text={content} needle={needle} />
          </li>
        );
      })}
    </ul>
  );
}

function Check(shown: Shown) {
  const { entry } = shown;
  const [command = "", exit = "", ...rest] = entry.text.split("\n");
  const [open, toggle] = useOpen(`${shown.runId}-${entry.n}`);
  const passed = exit.trim() === "exit 0";
  return (
    <div>
      <p className="flex flex-wrap items-baseline gap-x-3">
        <span className="min-w-0 break-words font-mono text-[13px]">
          <span className="mr-2 rounded-sm bg-raised px-1.5 py-px font-sans text-xs text-soft">check</span>
          <Marked text={command.replace(/^\$ /u, "")} needle={shown.needle} />
        </span>
        <span className={`whitespace-nowrap text-xs ${passed ? "text-good" : "text-needs"}`}>
          <span aria-hidden="true">{passed ? "✓" : "▲"}</span> {passed ? "passed" : exit}
        </span>
        {rest.join("").trim() !== "" && (
          <button type="button" aria-expanded={open} onClick={toggle} className="text-xs text-accent hover:underline">
            {open ? "Hide output" : "Output"}
          </button>
        )}
      </p>
      {open && <Output {...shown} entry={{ ...entry, text: rest.join("\n") }} />}
    </div>
  );
}
