import { isAbsolute, relative, resolve } from "node:path";
import type { PermissionLevel } from "../run/run.ts";
import { isReadOnly } from "./read-only-commands.ts";
import { simpleWords, startsWithWords } from "./shell-words.ts";

/** What an engine wants to do and asks for. */
export interface PermissionAsk {
  /** ACP's kind of the tool call: `execute`, `edit`, `read`... */
  readonly kind: string | null;
  readonly title: string;
  readonly command: string | null;
  readonly paths: readonly string[];
  /** The MCP server whose tool is asked for, where the engine tells it apart from the title. */
  readonly mcp_server?: string | null;
  /** A tool that only keeps the engine's own notes, such as its to-do list. */
  readonly bookkeeping?: boolean;
}

export interface PermissionPolicy {
  readonly level: PermissionLevel;
  readonly cwd: string;
  /** Command prefixes, by words. */
  readonly allow: readonly string[];
  /** Exact texts as they were shown in a question. */
  readonly allowed_commands: readonly string[];
  readonly allow_once: string | null;
}

export type PermissionDecision =
  | { readonly allowed: true; readonly used_once: boolean }
  /** `subject` is what a person is shown, and what an exact answer must name. */
  | { readonly allowed: false; readonly subject: string };

const ALLOWED: PermissionDecision = { allowed: true, used_once: false };

/**
 * Decides by the run's level. `all`: everything. `edits`: reading, edits inside the workspace, read-only commands and the
 * allow-list; the rest needs a person. `ask`: everything needs a person. An exact answer of a person holds at each level.
 */
export function decide(policy: PermissionPolicy, ask: PermissionAsk): PermissionDecision {
  if (policy.level === "all" || isHarmless(ask)) return ALLOWED;
  const subject = subjectOf(ask);
  if (policy.allowed_commands.includes(subject)) return ALLOWED;
  if (policy.allow_once === subject) return { allowed: true, used_once: true };
  if (policy.level === "edits" && allowedByEdits(policy, ask)) return ALLOWED;
  return { allowed: false, subject };
}

/** The command, or a text that names the whole request where there is no command. */
export function subjectOf(ask: PermissionAsk): string {
  if (ask.command !== null) return ask.command;
  return ask.paths.length > 0 ? `${ask.kind ?? "use"} ${ask.paths.join(" ")}` : ask.title;
}

function allowedByEdits(policy: PermissionPolicy, ask: PermissionAsk): boolean {
  if (ask.command !== null) return allowedCommand(policy.allow, ask.command);
  switch (ask.kind) {
    case "read":
    case "search":
    case "think":
      return true;
    case "edit":
    case "delete":
    case "move":
      return ask.paths.length > 0 && ask.paths.every((path) => isInsideWorkspace(policy.cwd, path));
    default:
      return false;
  }
}

function allowedCommand(allow: readonly string[], command: string): boolean {
  const words = simpleWords(command);
  if (words === null) return false;
  return isReadOnly(words) || allow.some((prefix) => startsWithWords(words, simpleWords(prefix) ?? []));
}

// Git's own folder is left out: a hook or a config line written there would run outside every permission.
function isInsideWorkspace(cwd: string, path: string): boolean {
  const inside = relative(cwd, resolve(cwd, path));
  if (inside === "" || isAbsolute(inside)) return false;
  const parts = inside.split("/");
  return parts[0] !== ".." && !parts.some((part) => part.toLowerCase() === ".git");
}

// The names that engines give to the injected tool.
const OWN_TOOL =
  /^(mcp__loopkeeper__report_progress|(mcp[._])?loopkeeper[_./:]report_progress|report_progress( \(loopkeeper MCP Server\))?)$/;

/** The injected tool and the engine's own notes. A command is never taken for one, whatever its title says. */
function isHarmless(ask: PermissionAsk): boolean {
  if (ask.command !== null || ask.paths.length > 0 || ask.kind === "execute") return false;
  return ask.bookkeeping === true || ask.mcp_server === "loopkeeper" || OWN_TOOL.test(ask.title);
}
