import { z } from "zod";
import type { GateFacts } from "../resume/gate.ts";
import { OFFERS, offers } from "../resume/offers.ts";
import { epochMs } from "../run/clock.ts";
import type { Audience } from "../run/said.ts";

/** What may be done with a run, as the pages get it. */

export const offerSchema = z.object({
  action: z.enum(OFFERS),
  label: z.string(),
  allowed: z.boolean(),
  word: z.string().nullable(),
  why: z.string().nullable(),
  needs: z.array(z.string()),
});
export type OfferView = z.infer<typeof offerSchema>;

export function offersOf(facts: GateFacts, to: Audience): OfferView[] {
  return offers(facts, epochMs()).map((offer) => ({ ...offer, why: offer.why?.[to] ?? null, needs: [...offer.needs] }));
}
