import type { Head } from "../../../src/tools/view-head.ts";
import type { Wanted } from "./want.ts";

/** What each dialog of an action gets. `head` is the run as it was looked at: it stays so until `lookAgain`. */
export interface ActionProps {
  readonly wanted: Wanted;
  readonly head: Head;
  readonly lookAgain: () => Promise<unknown>;
  readonly onClose: () => void;
}
