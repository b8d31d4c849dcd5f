/** Examples of every command's help. Each can be typed as it stands; a test parses all of them. */
export interface Example {
  readonly line: string;
  readonly about: string;
}

export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  start: [
    {
      line: `loopkeeper start "Make the tests pass" --verify "npm test"`,
      about: "work on the repository you stand in, in a worktree of its own",
    },
    {
      line: `loopkeeper start "Port to ESM" --agent codex --max-iterations 20 --budget cost_usd=5,minutes=90 --auto-resume times=3`,
      about: "with an agent, a ceiling, caps, and leave to go on after usage limits and crashes",
    },
    { line: `loopkeeper start "Upgrade" --steps @steps.json --dry-run`, about: "check steps from a file, start nothing" },
  ],
  list: [
    { line: "loopkeeper list", about: "all runs, newest change first" },
    { line: "loopkeeper list --repo . --needs-attention", about: "what waits for you in this repository" },
  ],
  status: [
    { line: "loopkeeper status", about: "the newest run of this repository" },
    { line: "loopkeeper status h21h", about: "the run whose id begins so" },
  ],
  wait: [
    { line: "loopkeeper wait", about: "until the newest run of this repository has stopped or is done" },
    { line: "loopkeeper wait h21h --until iteration --timeout-s 60", about: "for one more iteration, a minute at most" },
  ],
  explain: [
    { line: "loopkeeper explain", about: "why the newest run of this repository stopped, and what to do" },
    { line: "loopkeeper explain @2 --json", about: "the same of the run before it, for a program" },
  ],
  transcript: [
    { line: "loopkeeper transcript", about: "the newest page" },
    { line: "loopkeeper transcript h21h --follow", about: "what the agent says while it works" },
    { line: `loopkeeper transcript h21h --search "TypeError" --full`, about: "entries that hold a text, whole" },
  ],
  diff: [
    { line: "loopkeeper diff", about: "what the newest run changed" },
    { line: "loopkeeper diff h21h --from stop --to now", about: "what others changed since it stopped" },
  ],
  resume: [
    { line: "loopkeeper resume @last", about: "go on where it stopped" },
    {
      line: `loopkeeper resume h21h --instructions "Use the v2 API" --add-iterations 5`,
      about: "with orders and more iterations",
    },
    { line: "loopkeeper resume h21h --permission allow_once", about: "the answer to a permission it asked for" },
  ],
  grant: [{ line: "loopkeeper grant h21h 10", about: "ten more; a run that ran out of them goes on at once" }],
  reset: [
    { line: "loopkeeper reset h21h", about: "see what it would undo, then decide" },
    { line: "loopkeeper reset h21h --yes", about: "show it and do it" },
    { line: "loopkeeper reset h21h --restart", about: "undo it all and start anew" },
  ],
  redo: [{ line: `loopkeeper redo h21h main --instructions "Smaller steps"`, about: "the step again from where it began" }],
  stop: [
    { line: "loopkeeper stop h21h", about: "now; its work is kept" },
    { line: "loopkeeper stop h21h --mode after_iteration", about: "when the present iteration has ended" },
  ],
  instruct: [{ line: `loopkeeper instruct h21h "Leave the public API alone"`, about: "for its next iteration" }],
  archive: [
    { line: "loopkeeper archive h21h", about: "put it away" },
    { line: "loopkeeper archive h21h --reclaim", about: "and free its worktree, if nothing in it exists nowhere else" },
    { line: "loopkeeper archive h21h --no-archived", about: "bring it back" },
  ],
};
