import type { HostView } from "../resume/conversation.ts";
import { type Sessions, sessionsThrough } from "../resume/run-size.ts";
import type { ToolContext } from "./context.ts";

/** What this host knows of a run's conversation; an agent that is not known here counts as not to be told. */
export function hostView(ctx: ToolContext): HostView {
  return {
    host: ctx.host,
    sessionHere: async (run, session) => {
      try {
        const agent = await ctx.agents.resolve(run.agent);
        return await ctx.engines.hasSession({ agent, session_id: session, cwd: run.workspace_path });
      } catch {
        return null;
      }
    },
  };
}

/** The agents' own files on this host, found by the configuration of this door. */
export function sessionsHere(ctx: Pick<ToolContext, "agents" | "engines">): Sessions {
  return sessionsThrough(ctx.engines, (run) => ctx.agents.resolve(run.agent));
}
