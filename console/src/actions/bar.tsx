import type { RunGroup } from "../../../src/run/group.ts";
import type { StopReason } from "../../../src/run/stop-reason.ts";
import type { OfferView } from "../../../src/tools/offer.ts";
import { Button } from "../ui/button.tsx";
import { clockTime } from "../ui/clock.ts";
import { useKeptFocus } from "../ui/kept-focus.ts";
import { Menu } from "../ui/menu.tsx";
import { useWant } from "./want.ts";

interface Acted {
  readonly run_id: string;
  readonly group: RunGroup;
  readonly stop_reason: StopReason | null;
  readonly stop: { readonly resets_at: string | null } | null;
}

/**
 * What may be done with a run: the likely deeds as buttons, in the order in which they are likely, everything else in the menu,
 * and there also what is not allowed, with its reason.
 */
export function ActionBar({
  run,
  offers,
  most = 2,
}: {
  readonly run: Acted;
  readonly offers: readonly OfferView[];
  readonly most?: number;
}) {
  const want = useWant();
  const kept = useKeptFocus<HTMLDivElement>();
  const likely = likelyOf(run, offers);
  const shown = offers.filter((offer) => offer.allowed && likely.includes(offer.action));
  const buttons = [...shown].sort((a, b) => likely.indexOf(a.action) - likely.indexOf(b.action)).slice(0, most);
  const rest = offers.filter((offer) => !buttons.includes(offer) && !(offer.action === "answer" && !offer.allowed));
  return (
    <div {...kept} className="flex items-center gap-1.5">
      {buttons.map((offer, place) => (
        <Button
          key={offer.action}
          look={place === 0 && run.group === "needs_you" ? "primary" : "plain"}
          onClick={() => want({ action: offer.action, run_id: run.run_id })}
        >
          {labelOf(offer, run)}
        </Button>
      ))}
      <Menu
        label="More actions"
        items={rest.map((offer) => ({
          key: offer.action,
          label: `${offer.label}${DOTS.has(offer.action) ? "…" : ""}`,
          refused: offer.allowed ? null : offer.why,
          danger: TAKES_AWAY.has(offer.action),
          onSelect: () => want({ action: offer.action, run_id: run.run_id }),
        }))}
      />
    </div>
  );
}

/** Everything opens a dialog first. */
const DOTS: ReadonlySet<OfferView["action"]> = new Set([
  "resume",
  "answer",
  "grant",
  "redo",
  "reset",
  "stop",
  "instruct",
  "archive",
  "reclaim",
]);

const TAKES_AWAY: ReadonlySet<OfferView["action"]> = new Set(["reset", "redo", "reclaim"]);

function likelyOf(run: Acted, offers: readonly OfferView[]): readonly OfferView["action"][] {
  const asked = offers.some((offer) => offer.action === "answer" && offer.allowed);
  if (asked) return ["answer"];
  if (run.group === "running") return ["stop", "instruct"];
  if (run.group === "waiting") return ["stop", "resume"];
  if (run.group === "finished") return run.stop_reason === "cancelled" ? ["resume", "archive"] : ["archive"];
  return run.stop_reason === "max_iterations" ? ["resume", "grant"] : ["resume"];
}

function labelOf(offer: OfferView, run: Acted): string {
  if (offer.action === "resume" && offer.label !== "Resume" && run.stop?.resets_at != null)
    return `Resume at ${clockTime(run.stop.resets_at)}`;
  return offer.label;
}
