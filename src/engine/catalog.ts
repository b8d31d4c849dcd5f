/** The agents that Loopkeeper knows by name, in the order in which a default one is looked for. */
export interface CatalogRow {
  readonly name: string;
  readonly profile: string;
  /** Null: this program itself. */
  readonly command: string | null;
  readonly args: readonly string[];
  /** The npm package that brings the command, in the version that its profile was tried with; null: none is needed. */
  readonly npm: { readonly name: string; readonly version: string } | null;
  readonly may_be_default: boolean;
}

export const CATALOG: readonly CatalogRow[] = [
  {
    name: "claude",
    profile: "claude",
    command: "claude-agent-acp",
    args: [],
    npm: { name: "@agentclientprotocol/claude-agent-acp", version: "0.101.0" },
    may_be_default: true,
  },
  {
    name: "codex",
    profile: "codex",
    command: "codex-acp",
    args: [],
    npm: { name: "@agentclientprotocol/codex-acp", version: "2.6.0" },
    may_be_default: true,
  },
  {
    name: "opencode",
    profile: "opencode",
    command: "opencode",
    args: ["acp"],
    npm: { name: "opencode-ai", version: "1.18.33" },
    may_be_default: true,
  },
  {
    name: "gemini",
    profile: "gemini",
    command: "gemini",
    args: ["--acp", "--skip-trust"],
    npm: { name: "@google/gemini-cli", version: "0.61.0" },
    may_be_default: true,
  },
  {
    name: "scripted",
    profile: "scripted",
    command: null,
    args: ["scripted-agent"],
    npm: null,
    may_be_default: false,
  },
];
