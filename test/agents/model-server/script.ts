/** What the scripted model answers, said without any provider's dialect. */

/** A call of one of the agent's tools. Paths are relative to the agent's working directory. */
export type Call =
  | { readonly tool: "shell"; readonly command: string }
  | { readonly tool: "write"; readonly path: string; readonly content: string }
  | { readonly tool: "plan"; readonly entries: readonly PlanItem[] }
  /** The injected MCP tool `report_progress`, found by its suffix among the tools of the request. */
  | { readonly tool: "report"; readonly report: Readonly<Record<string, unknown>> };

export interface PlanItem {
  readonly content: string;
  readonly status: "pending" | "in_progress" | "completed";
}

/** Provider faults; each dialect has its own status, headers and body for them. */
export const FAULTS = ["rate_limit", "overloaded", "no_credit", "unauthorized", "usage_window"] as const;
export type Fault = (typeof FAULTS)[number];

/** One answer of the model. A reply with calls makes the agent run them and ask again; one without ends the turn. */
export interface Reply {
  readonly think?: string;
  readonly say?: string;
  readonly call?: Call;
  /** The provider refuses instead of answering. Agents retry some of these: repeat the reply as often as they do. */
  readonly fault?: Fault;
  /** The connection stays open and nothing ever comes. */
  readonly hang?: true;
}

/** What is answered when an agent asks more often than was scripted: it ends the turn, and a test that reads it sees why. */
export const UNSCRIPTED: Reply = { say: "Nothing more is scripted." };
