import type { HostView } from "../resume/conversation.ts";
import type { Sessions } from "../resume/run-size.ts";
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

/** The agent's own files of a run on this host. They are asked for from the repository: the worktree may be gone. */
export function sessionsHere(ctx: Pick<ToolContext, "agents" | "engines">): Sessions {
  return {
    size: async (run, session) => {
      try {
        const agent = await ctx.agents.resolve(run.agent);
        return await ctx.engines.sessionSize({ agent, session_id: session, cwd: run.repo_path });
      } catch {
        return null;
      }
    },
    free: async (run, session) => {
      const agent = await ctx.agents.resolve(run.agent).catch(() => null);
      if (agent === null) return { freed: 0, kept: `the agent ${run.agent} is not here to tell where they are` };
      const untouched_since = run.stop?.at ?? run.created_at;
      try {
        return await ctx.engines.freeSession({ agent, session_id: session, cwd: run.repo_path, untouched_since });
      } catch {
        return { freed: 0, kept: "they could not be removed" };
      }
    },
  };
}
