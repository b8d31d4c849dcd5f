import type { OfferView } from "../../../src/tools/offer.ts";
import { announce } from "../ui/announce.tsx";
import { withLocalTimes } from "../ui/clock.ts";
import { useKeys } from "../ui/keyboard.ts";
import { useWant } from "./want.ts";

interface Keyed {
  readonly run_id: string;
  readonly actions: readonly OfferView[];
}

/** The keys that act on the run in hand. One that the run does not allow says why, as its button would if there were one. */
export function useRunKeys(run: Keyed | null): void {
  const want = useWant();
  const wish = (action: OfferView["action"]): void => {
    const offer = run?.actions.find((one) => one.action === action);
    if (run === null || offer === undefined) return;
    if (offer.allowed) want({ action, run_id: run.run_id });
    else announce(`${offer.label}: ${withLocalTimes(offer.why ?? "not possible now")}`, "bad");
  };
  const asked = run?.actions.some((offer) => offer.action === "answer" && offer.allowed) === true;
  useKeys({
    r: () => wish(asked ? "answer" : "resume"),
    g: () => wish("grant"),
    s: () => wish("stop"),
  });
}
