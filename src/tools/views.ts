import type { Tool } from "./define-tool.ts";
import { accountView } from "./run-explain-stop.ts";
import { viewChanges } from "./view-changes.ts";
import { viewCheckpoints } from "./view-checkpoints.ts";
import { viewEntries } from "./view-entries.ts";
import { viewEntry } from "./view-entry.ts";
import { viewEntryIndex } from "./view-entry-index.ts";
import { headView } from "./view-head.ts";
import { ledgerView } from "./view-ledger.ts";
import { viewPatch } from "./view-patch.ts";
import { viewPlans } from "./view-plans.ts";
import { viewReclaimPreview } from "./view-reclaim-preview.ts";
import { viewTimeline } from "./view-timeline.ts";

/** Readings for the console, which the REST door offers beside the tools. */
export const VIEWS: readonly Tool[] = [
  ledgerView,
  headView,
  accountView,
  viewTimeline,
  viewEntries,
  viewEntry,
  viewEntryIndex,
  viewPlans,
  viewCheckpoints,
  viewChanges,
  viewPatch,
  viewReclaimPreview,
];
