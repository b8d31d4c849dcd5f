import { LoopkeeperError } from "../run/errors.ts";
import type { RunRecord } from "../run/run.ts";
import type { ToolContext } from "./context.ts";

/**
 * A new attempt is driven by the run's agent as the configuration has it now. One that is gone from it is told before
 * anything is changed; `agent_unknown` or `agent_unavailable`.
 */
export async function checkAgent(ctx: ToolContext, run: RunRecord): Promise<void> {
  try {
    await ctx.agents.resolve(run.agent);
  } catch (error) {
    if (!(error instanceof LoopkeeperError)) throw error;
    throw new LoopkeeperError(
      error.code,
      `run ${run.run_id} works with agent "${run.agent}", which cannot be started here now, so nothing was changed: ${error.message}. Put it back into the configuration (or install it), then call again.`,
    );
  }
}
