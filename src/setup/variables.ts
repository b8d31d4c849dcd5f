import { LOGIN_VARIABLES } from "../doctor/login.ts";

/** What Loopkeeper, the agents and git take from the environment, for clients that hand on only what they are told to. */
const WANTED: readonly string[] = [
  "LOOPKEEPER_DATABASE_URL",
  "LOOPKEEPER_KEY",
  "LOOPKEEPER_LOG",
  ...LOGIN_VARIABLES,
  // Where an agent keeps its login, and whom it asks.
  "CLAUDE_CONFIG_DIR",
  "CODEX_HOME",
  "GEMINI_CLI_HOME",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "ANTHROPIC_BASE_URL",
  "OPENAI_BASE_URL",
  "GOOGLE_GEMINI_BASE_URL",
  "GOOGLE_CLOUD_PROJECT",
  "GOOGLE_CLOUD_LOCATION",
  "GOOGLE_APPLICATION_CREDENTIALS",
  "AWS_PROFILE",
  "AWS_REGION",
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_BEARER_TOKEN_BEDROCK",
  // With what git and gh reach a remote.
  "SSH_AUTH_SOCK",
  "GH_TOKEN",
  "GITHUB_TOKEN",
  // The way out of a company's network.
  "HTTPS_PROXY",
  "https_proxy",
  "HTTP_PROXY",
  "http_proxy",
  "NO_PROXY",
  "no_proxy",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
];

/** The names of those that are set. */
export function wantedVariables(env: Readonly<Record<string, string>>): readonly string[] {
  return WANTED.filter((name) => (env[name] ?? "") !== "");
}
