import { Fragment, type ReactNode } from "react";
import { Link } from "react-router";
import type { RunView } from "../../../src/tools/schemas.ts";
import type { Head } from "../../../src/tools/view-head.ts";
import { ActionBar } from "../actions/bar.tsx";
import { money, plural } from "../ledger/words.ts";
import { clockTime } from "../ui/clock.ts";
import { Copyable, shortId } from "../ui/copy.tsx";
import { ScrollRegion } from "../ui/scroll-region.tsx";
import { StateBadge } from "../ui/state-badge.tsx";
import { Ago, Since } from "../ui/time.tsx";

export function RunHead({ head }: { readonly head: Head }) {
  const { run } = head;
  const cut = head.objective.indexOf("\n");
  const title = cut === -1 ? head.objective : head.objective.slice(0, cut);
  return (
    <header className="pt-3">
      <nav aria-label="Where you are" className="text-[13px] text-soft">
        <Link to="/" className="hover:text-ink hover:underline">
          Runs
        </Link>{" "}
        / <Copyable text={run.run_id} shown={shortId(run.run_id)} what="the run's id" />
      </nav>
      <div className="mt-1 flex flex-wrap items-start gap-x-4 gap-y-2">
        <h1 className="min-w-0 grow basis-96 text-[19px] leading-snug font-semibold break-words" title={head.objective}>
          {title.length > 240 ? `${title.slice(0, 240)}…` : title}
        </h1>
        <ActionBar run={{ ...run, group: head.group }} offers={head.actions} most={3} />
      </div>
      <p className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-0.5 text-[13px] text-soft">
        <StateBadge run={{ ...run, group: head.group }} />
        {factsOf(head).map((fact) => (
          <Fragment key={fact.key}>
            <span aria-hidden="true">·</span>
            {fact.node}
          </Fragment>
        ))}
      </p>
      {head.objective.length > title.length && (
        <details className="mt-1 text-[13px] text-soft">
          <summary className="cursor-pointer">The whole objective</summary>
          <ScrollRegion label="The objective" className="mt-1 max-h-72 overflow-y-auto rounded-md bg-raised p-3">
            <p className="break-words whitespace-pre-wrap text-ink">{head.objective}</p>
          </ScrollRegion>
        </details>
      )}
      <Waiting head={head} />
    </header>
  );
}

interface Fact {
  readonly key: string;
  readonly node: ReactNode;
}

function factsOf({ run, stop_request }: Head): readonly Fact[] {
  const { repository, workspace, agent, usage } = run;
  const facts: (Fact | null)[] = [
    { key: "repo", node: <span title={repository.path}>{repository.path.split("/").at(-1)}</span> },
    repository.branch === null ? null : { key: "branch", node: <Copyable text={repository.branch} what="the branch" /> },
    {
      key: "agent",
      node: (
        <span>
          {agent.name}
          {agent.model === null ? "" : ` ${agent.model}`}
        </span>
      ),
    },
    {
      key: "iterations",
      node: (
        <span>
          {run.iteration} of {run.max_iterations} iterations
        </span>
      ),
    },
    { key: "when", node: <When run={run} /> },
    usage.cost_usd === null
      ? null
      : {
          key: "cost",
          node: (
            <span>
              {money(usage.cost_usd)}
              {budgetOf(run)}
            </span>
          ),
        },
    usage.minutes >= 0.5 ? { key: "minutes", node: <span>{plural(Math.round(usage.minutes), "minute")} at work</span> } : null,
    workspace.kind === "in_place" ? { key: "kind", node: <span>in place</span> } : null,
    stop_request === null || run.state === "stopped"
      ? null
      : {
          key: "stopping",
          node: <span className="text-needs">stops {stop_request.mode === "now" ? "now" : "after this iteration"}</span>,
        },
    run.archived_at === null ? null : { key: "archived", node: <span>archived</span> },
    run.reclaimed_at === null ? null : { key: "reclaimed", node: <span>workspace freed</span> },
  ];
  return facts.filter((fact) => fact !== null);
}

function budgetOf(run: RunView): string {
  return run.budget?.cost_usd === undefined ? "" : ` of ${money(run.budget.cost_usd)}`;
}

function When({ run }: { readonly run: RunView }) {
  if (run.stopped_at !== null) return <Ago at={run.stopped_at} />;
  if (run.state === "queued") return <span>{run.queued_because ?? "queued"}</span>;
  return (
    <span>
      {run.started_at !== null && (
        <>
          for <Since at={run.started_at} />
        </>
      )}
      {run.progress_at !== null && (
        <>
          , last sign <Ago at={run.progress_at} />
        </>
      )}
    </span>
  );
}

function Waiting({ head }: { readonly head: Head }) {
  const { run, undelivered } = head;
  return (
    <>
      {run.waiting_until !== null && (
        <p className="mt-2 rounded-md bg-raised px-3 py-1.5 text-[13px]">
          It goes on by itself at {clockTime(run.waiting_until)} (<Ago at={run.waiting_until} />)
          {run.auto_resume === null ? "." : `; by itself ${run.auto_resume.used} of ${run.auto_resume.times} times so far.`}
        </p>
      )}
      {undelivered.length > 0 && (
        <details className="mt-2 rounded-md bg-raised px-3 py-1.5 text-[13px]">
          <summary className="cursor-pointer">{plural(undelivered.length, "word")} from you not yet delivered</summary>
          <ul className="mt-1 space-y-1">
            {undelivered.map((one) => (
              <li key={`${one.at}${one.kind}${one.text}`} className="whitespace-pre-wrap text-soft">
                {one.text}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
