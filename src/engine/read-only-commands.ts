/** Commands that level `edits` allows without asking: they read and start no other program. */
export function isReadOnly(words: readonly string[]): boolean {
  const [program, ...rest] = words;
  if (program === "ls" || program === "cat" || program === "grep") return true;
  if (program === "find") return !rest.some((word) => FIND_ACTS.test(word));
  if (program === "git") return isReadOnlyGit(rest);
  return false;
}

const FIND_ACTS = /^-(exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls)$/;

// Subcommands that only read whatever their arguments are, save for the flags below.
const GIT_READERS = new Set([
  "status",
  "log",
  "diff",
  "show",
  "rev-parse",
  "rev-list",
  "ls-files",
  "ls-tree",
  "cat-file",
  "blame",
  "describe",
  "shortlog",
  "merge-base",
  "name-rev",
  "for-each-ref",
  "show-ref",
  "grep",
  "diff-tree",
  "diff-index",
  "diff-files",
  "check-ignore",
]);

// These write a file or start a program (a pager, an external diff, a filter).
const GIT_ACTING_FLAGS = /^(--output|--ext-diff|--textconv|--filters|--open-files-in-pager|-O|--upload-pack|--exec)/;

// Subcommands that read only in these forms.
const GIT_FORMS: Readonly<Record<string, RegExp>> = {
  branch: /^(|(-a|-r|-v|-vv|--all|--remotes|--list|--show-current)( (-a|-r|-v|-vv|--all|--remotes|--list))*)$/,
  remote: /^(|-v|--verbose|get-url \S+)$/,
  tag: /^(|-l|--list)$/,
  stash: /^(list|show)( .*)?$/,
  worktree: /^list( --porcelain)?$/,
  reflog: /^(|show.*)$/,
};

function isReadOnlyGit(words: readonly string[]): boolean {
  let rest = words;
  // Only these two global options; `-c name=value` can name a program to run.
  for (;;) {
    if (rest[0] === "--no-pager") rest = rest.slice(1);
    else if (rest[0] === "-C" && rest.length > 2) rest = rest.slice(2);
    else break;
  }
  const [subcommand = "", ...args] = rest;
  if (args.some((word) => GIT_ACTING_FLAGS.test(word))) return false;
  return GIT_READERS.has(subcommand) || (GIT_FORMS[subcommand]?.test(args.join(" ")) ?? false);
}
