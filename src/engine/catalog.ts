/** The agents that Loopkeeper knows by name, in the order in which a default one is looked for. */
export interface CatalogRow {
  readonly name: string;
  readonly profile: string;
  /** Null: this program itself. */
  readonly command: string | null;
  readonly args: readonly string[];
  /** How a person gets it. */
  readonly how: string;
  readonly may_be_default: boolean;
}

export const CATALOG: readonly CatalogRow[] = [
  {
    name: "claude",
    profile: "claude",
    command: "claude-agent-acp",
    args: [],
    how: "npm package @agentclientprotocol/claude-agent-acp: `loopkeeper agents add claude`",
    may_be_default: true,
  },
  {
    name: "codex",
    profile: "codex",
    command: "codex-acp",
    args: [],
    how: "npm package @agentclientprotocol/codex-acp: `loopkeeper agents add codex`",
    may_be_default: true,
  },
  {
    name: "opencode",
    profile: "opencode",
    command: "opencode",
    args: ["acp"],
    how: "npm package opencode-ai: `loopkeeper agents add opencode`",
    may_be_default: true,
  },
  {
    name: "gemini",
    profile: "gemini",
    command: "gemini",
    args: ["--acp", "--skip-trust"],
    how: "npm package @google/gemini-cli: `loopkeeper agents add gemini`",
    may_be_default: true,
  },
  {
    name: "scripted",
    profile: "scripted",
    command: null,
    args: ["scripted-agent"],
    how: "ships with Loopkeeper; plays the script named by LOOPKEEPER_SCRIPT",
    may_be_default: false,
  },
];
