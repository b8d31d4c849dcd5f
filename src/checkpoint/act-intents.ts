import type { ActKind } from "../run/act.ts";
import { type ShellCommand, shellCommands } from "./shell-words.ts";

/** Something that a command of the run asks for; refs tell whether it came about. */
export interface Intent {
  readonly kind: ActKind;
  /** Branch, tag or remote ref that it should leave behind; null when no ref can tell. */
  readonly ref: string | null;
  /** The remote of a push, when the command names one. */
  readonly remote: string | null;
  readonly deletes: boolean;
  /** Folder of `git -C`, or of a `cd` before it; null for the place where the agent works. */
  readonly folder: string | null;
  /** The command's words on one line. */
  readonly what: string;
  /** True when the text held other commands too, so that its exit code may not be this one's. */
  readonly mixed: boolean;
}

const MAX_WHAT = 200;

/** The commits and other acts that a shell text asks for. */
export function intentsOf(text: string): Intent[] {
  const commands = shellCommands(text);
  return commands.flatMap((command) => {
    const found = command.words[0] === "git" ? gitIntents(command) : toolIntents(command.words);
    const what = command.words.join(" ").replace(/\s+/g, " ").slice(0, MAX_WHAT);
    return found.map((part) => ({
      kind: part.kind,
      ref: part.ref ?? null,
      remote: part.remote ?? null,
      deletes: part.deletes ?? false,
      folder: part.folder ?? command.cwd.at(-1) ?? null,
      what,
      mixed: commands.filter((other) => other.words.length > 0).length > 1,
    }));
  });
}

/** True when a text has a git command that makes commits. */
export function makesCommits(text: string): boolean {
  return shellCommands(text).some(
    (command) =>
      command.words[0] === "git" &&
      ["commit", "merge", "cherry-pick", "revert", "am", "rebase", "pull"].includes(gitCall(command.words).verb),
  );
}

interface Part {
  readonly kind: ActKind;
  readonly ref?: string;
  readonly remote?: string;
  readonly deletes?: boolean;
  readonly folder?: string;
}

function gitIntents(command: ShellCommand): Part[] {
  const { verb, args, folder } = gitCall(command.words);
  const at = folder === null ? {} : { folder };
  return partsOf(verb, args).map((part) => ({ ...part, ...at }));
}

/** Verb and arguments of a git call, past git's own options. */
function gitCall(words: readonly string[]): { verb: string; args: readonly string[]; folder: string | null } {
  let folder: string | null = null;
  let at = 1;
  for (; at < words.length && words[at]?.startsWith("-"); at += 1) {
    const word = words[at] ?? "";
    if (word === "-C") folder = words[at + 1] ?? null;
    if (["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"].includes(word)) at += 1;
  }
  return { verb: words[at] ?? "", args: words.slice(at + 1), folder };
}

function partsOf(verb: string, args: readonly string[]): Part[] {
  const plain = args.filter((arg) => !arg.startsWith("-"));
  const has = (...flags: readonly string[]) => args.some((arg) => flags.includes(arg));
  switch (verb) {
    case "push":
      return has("--dry-run", "-n") ? [] : pushParts(args);
    case "checkout":
      return branchAfter(args, ["-b", "-B", "--orphan"]);
    case "switch":
      return branchAfter(args, ["-c", "-C", "--create", "--force-create", "--orphan"]);
    case "worktree":
      return plain[0] === "add" ? branchAfter(args, ["-b", "-B"]) : [];
    case "branch":
      if (
        has(
          "-d",
          "-D",
          "--delete",
          "-l",
          "--list",
          "--show-current",
          "-u",
          "--unset-upstream",
          "--contains",
          "--merged",
          "--no-merged",
        )
      )
        return [];
      return branchPart(has("-m", "-M", "-c", "-C", "--move", "--copy") ? plain.at(-1) : plain[0]);
    case "tag":
      if (has("-l", "--list", "-d", "--delete", "-v", "--verify", "-n", "--contains", "--points-at")) return [];
      return tagPart(valueless(args, ["-m", "-F", "-u", "--message", "--file", "--local-user"])[0]);
    case "merge":
      return has("--abort", "--quit") || (plain.length === 0 && !has("--continue")) ? [] : [{ kind: "merge" }];
    default:
      return [];
  }
}

function branchAfter(args: readonly string[], flags: readonly string[]): Part[] {
  const at = args.findIndex((arg) => flags.includes(arg));
  return at < 0 ? [] : branchPart(args[at + 1]);
}

function branchPart(name: string | undefined): Part[] {
  return name === undefined ? [] : [{ kind: "branch", ref: `refs/heads/${name}` }];
}

function tagPart(name: string | undefined): Part[] {
  return name === undefined ? [] : [{ kind: "tag", ref: `refs/tags/${name}` }];
}

/** One part for each refspec; without one, a single part whose ref the repository has to tell. */
function pushParts(args: readonly string[]): Part[] {
  const [remote, ...specs] = valueless(args, ["-o", "--push-option", "--receive-pack", "--exec", "--repo"]);
  const named = remote === undefined ? {} : { remote };
  const deletes = args.includes("--delete") || args.includes("-d");
  if (specs.length === 0) return [{ kind: "push", ...named }];
  return specs.map((spec) => {
    const [source = "", target = source] = spec.replace(/^\+/, "").split(":");
    const ref = target.replace(/^refs\/heads\//, "");
    return {
      kind: "push",
      ...named,
      ...(ref === "HEAD" || ref === "" ? {} : { ref }),
      deletes: deletes || (source === "" && spec.includes(":")),
    };
  });
}

/** Arguments that are no options and no values of the given options. */
function valueless(args: readonly string[], taking: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (taking.includes(arg)) at += 1;
    else if (!arg.startsWith("-")) kept.push(arg);
  }
  return kept;
}

/** Commands of other tools, by their first words. */
const TOOLS: readonly (readonly [string, ActKind])[] = [
  ["gh pr create", "pull_request"],
  ["gh pr merge", "merge"],
  ["gh pr close", "other"],
  ["gh pr comment", "other"],
  ["gh pr review", "other"],
  ["gh issue create", "issue"],
  ["gh issue close", "issue"],
  ["gh issue comment", "issue"],
  ["gh issue edit", "issue"],
  ["gh issue reopen", "issue"],
  ["gh release create", "other"],
  ["glab mr create", "pull_request"],
  ["glab mr merge", "merge"],
  ["glab issue create", "issue"],
  ["glab issue close", "issue"],
  ["hub pull-request", "pull_request"],
  ["npm publish", "other"],
  ["pnpm publish", "other"],
  ["yarn publish", "other"],
  ["cargo publish", "other"],
  ["twine upload", "other"],
];

function toolIntents(words: readonly string[]): Part[] {
  const text = `${words.filter((word) => !word.startsWith("-")).join(" ")} `;
  const found = TOOLS.find(([start]) => text.startsWith(`${start} `));
  return found === undefined || words.includes("--dry-run") || words.includes("--help") ? [] : [{ kind: found[1] }];
}
