import { useEffect, useRef } from "react";
import { NavLink, useLocation, useParams } from "react-router";
import type { RunView } from "../../../../src/tools/schemas.ts";
import { part } from "../../ui/part.tsx";
import { Loading } from "./states.tsx";

const Timeline = part(async () => (await import("./timeline/timeline.tsx")).Timeline, <Loading what="Timeline" />);
const Changes = part(async () => (await import("./changes/changes.tsx")).Changes, <Loading what="Changes" />);
const Transcript = part(async () => (await import("./transcript/transcript.tsx")).Transcript, <Loading what="Transcript" />);
const Plan = part(async () => (await import("./plan/plan.tsx")).Plan, <Loading what="Plan" />);
const Checkpoints = part(async () => (await import("./checkpoints/checkpoints.tsx")).Checkpoints, <Loading what="Checkpoints" />);
const Cost = part(async () => (await import("./cost/cost.tsx")).Cost, <Loading what="Cost" />);

const TABS = [
  { tab: "timeline", title: "Timeline", page: Timeline },
  { tab: "changes", title: "Changes", page: Changes },
  { tab: "transcript", title: "Transcript", page: Transcript },
  { tab: "plan", title: "Plan", page: Plan },
  { tab: "checkpoints", title: "Checkpoints", page: Checkpoints },
  { tab: "cost", title: "Cost", page: Cost },
] as const;

/** From then on the reader decides what is in sight. */
const MOVES = ["wheel", "touchmove", "keydown", "pointerdown"] as const;

/** What lies below a run's head. Each tab is an address, with what is looked at in its query. */
export function RunTabs({ run }: { readonly run: RunView }) {
  const { tab } = useParams();
  const shown = TABS.find((one) => one.tab === tab) ?? TABS[0];
  const Page = shown.page;
  const place = useRef<HTMLElement>(null);
  const named = useRef(useLocation().search !== "");
  // Whoever follows a link to one place in a run comes to see that place, also while the run's head above it still grows.
  useEffect(() => {
    if (!named.current) return;
    const watch = new ResizeObserver(() => place.current?.scrollIntoView());
    watch.observe(document.body);
    const free = (): void => watch.disconnect();
    for (const moved of MOVES) addEventListener(moved, free, { passive: true });
    return () => {
      free();
      for (const moved of MOVES) removeEventListener(moved, free);
    };
  }, []);
  return (
    <section ref={place} aria-label="The run in detail" className="mt-6 scroll-mt-10">
      <nav aria-label="Parts of the run" className="mb-4 flex gap-1 overflow-x-auto border-b border-line">
        {TABS.map((one) => (
          <NavLink
            key={one.tab}
            to={`/runs/${run.run_id}/${one.tab}`}
            aria-current={one === shown ? "page" : undefined}
            className={`-mb-px whitespace-nowrap border-b-2 px-3 py-1.5 ${
              one === shown ? "border-accent font-medium text-ink" : "border-transparent text-soft hover:text-ink"
            }`}
          >
            {one.title}
          </NavLink>
        ))}
      </nav>
      <h2 className="sr-only">{shown.title}</h2>
      <Page run={run} key={run.run_id} />
    </section>
  );
}
