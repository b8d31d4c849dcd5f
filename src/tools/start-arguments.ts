import { z } from "zod";
import { DEFAULT_MAX_ITERATIONS } from "../run/grant.ts";
import { PERMISSION_LEVELS, WORKSPACE_KINDS } from "../run/run.ts";
import { AUTO_RESUME_REASONS, UNATTENDED_REASONS } from "../run/stop-reason.ts";
import { budgetArgument, iterationsArgument, requestIdArgument, wordsArgument } from "./schemas.ts";

const name = z
  .string()
  .min(1)
  .max(60)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/u, "letters, digits, dot, dash and underscore, at most 60");
const commands = z.array(z.string().min(1)).max(50);

export const autoResumeArgument = z.strictObject({
  reasons: z
    .array(z.enum(AUTO_RESUME_REASONS))
    .min(1)
    .default([...UNATTENDED_REASONS]),
  times: z.number().int().min(1).max(20),
});

export const startInput = z.strictObject({
  repo: z.string().min(1).describe("Path of the git repository (any folder inside it)."),
  objective: wordsArgument.describe("What the run is to reach, in full: the agent sees only this and the repository."),
  max_iterations: iterationsArgument
    .optional()
    .describe(`Ceiling of iterations (prompts), 1 to 200; default ${DEFAULT_MAX_ITERATIONS}.`),
  agent: z
    .string()
    .min(1)
    .optional()
    .describe("claude, codex, opencode, gemini, or a configured one; default: the configured or first one found."),
  model: z.string().min(1).optional().describe("A model of the agent; default: the agent's own."),
  workspace: z
    .enum(WORKSPACE_KINDS)
    .optional()
    .describe("worktree (default): an own git worktree and branch. in_place: the repository's own working tree."),
  base: z
    .string()
    .min(1)
    .optional()
    .describe(
      'A revision to branch from (default HEAD), or "run:<run_id>": that run\'s stop checkpoint with its uncommitted edits.',
    ),
  branch: z
    .string()
    .max(200)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]*$/u, "a branch name: letters, digits, dot, dash, underscore, slash")
    .optional()
    .describe("Name of the new branch in a worktree; default loopkeeper/<short id>."),
  steps: z
    .array(
      z.strictObject({
        step: name,
        title: z.string().max(200).optional(),
        objective: wordsArgument,
        needs: z.array(z.string()).optional(),
        max_iterations: iterationsArgument.optional(),
        verify: commands.optional(),
      }),
    )
    .min(1)
    .max(50)
    .optional()
    .describe("Stages with their own objective, ceiling and checks, run in the order of their needs in one workspace."),
  verify: commands.optional().describe("Commands that must exit 0 before the work counts as done; run after every turn."),
  setup: commands.optional().describe("Commands run once when the worktree is made or rebuilt, e.g. npm ci."),
  copy_ignored: z
    .array(
      z
        .string()
        .min(1)
        .regex(/^(?!\/)(?!(?:.*\/)?\.\.(?:\/|$))/u, "a path inside the repository, relative to its top folder"),
    )
    .max(50)
    .optional()
    .describe("Ignored files such as .env to copy into the worktree; never through a symbolic link."),
  on_done: z
    .enum(["leave", "commit"])
    .optional()
    .describe("At done in a worktree: leave uncommitted edits (default) or commit them on the run's branch."),
  instructions: wordsArgument.optional().describe("How to work: orders beside the objective."),
  permissions: z.enum(PERMISSION_LEVELS).optional().describe("all (default in a worktree), edits (default in_place), ask."),
  allow: commands.optional().describe("With permissions edits: further command prefixes that are allowed."),
  budget: budgetArgument.optional().describe("Caps over the run's whole life: cost_usd, minutes, tokens."),
  auto_resume: autoResumeArgument.optional().describe("Continue by itself after these cut-offs, at most `times` times."),
  brief: z.enum(["auto", "none"]).optional().describe("Whether the agent is told about the run before this one; default auto."),
  dry_run: z.boolean().optional().describe("Check everything, store nothing."),
  request_id: requestIdArgument,
});

export type StartArgs = z.output<typeof startInput>;
