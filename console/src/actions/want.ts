import { createContext, useContext } from "react";
import type { OfferView } from "../../../src/tools/offer.ts";

/** What a person wants of a run; the rest narrows it: the step of a redo, the checkpoint or the restart of a reset. */
export interface Wanted {
  readonly action: OfferView["action"];
  readonly run_id: string;
  readonly step?: string;
  readonly to?: string;
  readonly restart?: boolean;
  readonly from?: "stop" | "entry";
  readonly at?: "now" | "reset";
}

export const WantContext = createContext<(wanted: Wanted) => void>(() => undefined);

/** Opens the dialog of an action, from any page. */
export function useWant(): (wanted: Wanted) => void {
  return useContext(WantContext);
}
