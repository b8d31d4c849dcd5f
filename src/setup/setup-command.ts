import { parseWords } from "../command-words.ts";
import type { Config } from "../config.ts";
import { LoopkeeperError, systemCode } from "../run/errors.ts";
import { VERSION } from "../version.ts";
import { CLIENTS, type Client, type Launch, type Scope } from "./clients.ts";
import { CannotEdit, withJsonEntry } from "./edit-json.ts";
import { withTomlTable } from "./edit-toml.ts";
import { wantedVariables } from "./variables.ts";
import { replaceFile, textOf } from "./write-file.ts";

const NAME = "loopkeeper";

export const SETUP_HELP = `Usage: loopkeeper setup <client> [--write] [--scope user|project] [--json]

Prints the configuration that makes a client start this Loopkeeper, and where it belongs. With --write it is merged into that
file: everything else in it stays, a copy of the file is kept beside it, and a file that cannot be read is not touched.

Clients: ${CLIENTS.map((client) => client.name).join(", ")}

  --write            write it
  --print            only print it (the default)
  --scope user       for you, in every folder (the default)
  --scope project    for the folder you stand in; its file names paths of this machine
  --json             print what was done as JSON

Examples:
  loopkeeper setup claude-code --write
  loopkeeper setup vscode --scope project
`;

const OPTIONS = {
  write: { type: "boolean" },
  print: { type: "boolean" },
  scope: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

interface Wishes {
  readonly client: Client;
  readonly scope: Scope;
  readonly write: boolean;
  readonly json: boolean;
}

/** What `--json` prints, and what the text is made of. */
interface Outcome {
  readonly client: string;
  readonly scope: Scope;
  readonly file: string;
  /** Keys that lead to the entry in the file. */
  readonly place: readonly string[];
  readonly entry: Readonly<Record<string, unknown>>;
  readonly state: "printed" | "written" | "unchanged";
  /** The copy of what was in the file before. */
  readonly backup: string | null;
  /** Variables that the client hands on by name: no value of them is in the file. */
  readonly named_variables: readonly string[];
  /** Variables that are set here, are not in the file, and do not reach the server by themselves. */
  readonly missing_variables: readonly string[];
  readonly consent: string | null;
  readonly check: string;
}

/** `loopkeeper setup <client>`. Resolves to the exit code. */
export async function runSetupCommand(config: Config, words: readonly string[]): Promise<number> {
  const wishes = wishesOf(words);
  if (wishes === null) {
    process.stdout.write(SETUP_HELP);
    return 0;
  }
  const outcome = setUp(config, wishes);
  process.stdout.write(`${wishes.json ? JSON.stringify(outcome, null, 2) : page(config, wishes, outcome).join("\n")}\n`);
  return 0;
}

function wishesOf(words: readonly string[]): Wishes | null {
  const { values, positionals } = parseWords({ args: [...words], options: OPTIONS, allowPositionals: true }, SETUP_HELP);
  const [name, ...more] = positionals;
  if (values.help === true || name === undefined) return null;
  const client = CLIENTS.find((candidate) => candidate.name === (name === "claude" ? "claude-code" : name));
  if (client === undefined || more.length > 0)
    throw new LoopkeeperError(
      "bad_input",
      `setup takes one client, not "${positionals.join(" ")}": ${CLIENTS.map((one) => one.name).join(", ")}.`,
    );
  const scope = values.scope ?? "user";
  if (scope !== "user" && scope !== "project") throw new LoopkeeperError("bad_input", "--scope takes user or project.");
  return { client, scope, write: values.write === true && values.print !== true, json: values.json === true };
}

function setUp(config: Config, { client, scope, write }: Wishes): Outcome {
  const file = client.file(scope, { platform: process.platform, home: config.user_home, cwd: config.cwd, env: config.env });
  if (file === null)
    throw new LoopkeeperError("bad_input", `${client.title} has no configuration of a project. Leave --scope out.`);
  const launch = launchOf(config, client);
  const place = [...client.at, NAME];
  const entry = client.entry(launch);
  return {
    client: client.name,
    scope,
    file,
    place,
    entry,
    ...(write ? written(client, file, place, entry) : { state: "printed", backup: null }),
    named_variables: launch.named,
    missing_variables: client.environment === "few" ? wantedVariables(config.env) : [],
    consent: client.consent(scope),
    check: client.check,
  };
}

/**
 * This very program with the Node that runs it: a client started from a desktop has another PATH, and another Node there may be
 * too old. Out of npx's cache, which is emptied now and then, it is npx again.
 */
function launchOf(config: Config, client: Client): Launch {
  const [bin = ""] = config.self.args;
  const { LOOPKEEPER_HOME, XDG_STATE_HOME, LOOPKEEPER_CONFIG, PATH } = config.env;
  const named = client.environment === "named" ? wantedVariables(config.env) : [];
  const env = {
    ...(LOOPKEEPER_HOME === undefined && XDG_STATE_HOME === undefined ? {} : { LOOPKEEPER_HOME: config.home }),
    ...(LOOPKEEPER_CONFIG === undefined || config.config_path === null ? {} : { LOOPKEEPER_CONFIG: config.config_path }),
    ...(client.desktop && PATH !== undefined ? { PATH } : {}),
  };
  if (/[\\/]_npx[\\/]/u.test(bin)) return { command: "npx", args: ["-y", `loopkeeper@${VERSION}`, "mcp"], env, named };
  return { command: config.self.command, args: [bin, "mcp"], env, named };
}

function written(
  client: Client,
  file: string,
  place: readonly string[],
  entry: Readonly<Record<string, unknown>>,
): Pick<Outcome, "state" | "backup"> {
  try {
    const before = textOf(file);
    const text =
      client.format === "toml"
        ? withTomlTable(before ?? "", place, entry)
        : withJsonEntry(before ?? "", place, entry, { comments: client.format === "jsonc" });
    return text === before ? { state: "unchanged", backup: null } : { state: "written", backup: replaceFile(file, text) };
  } catch (error) {
    const why = error instanceof CannotEdit ? error.message : systemCode(error);
    if (why === null) throw error;
    throw new LoopkeeperError(
      "bad_input",
      `${file} was not touched: ${why}. Correct it, or add the entry by hand: loopkeeper setup ${client.name} prints it.`,
    );
  }
}

function page(config: Config, { client, scope }: Wishes, outcome: Outcome): readonly string[] {
  const { file, state, backup, consent, check } = outcome;
  const notes = [...variableLines(config, client, outcome), ...(consent === null ? [] : [consent]), `To check: ${check}`];
  if (state === "unchanged") return [`${client.title} is set up already: ${file}`, ...notes];
  if (state === "written")
    return [
      `${client.title} starts this Loopkeeper now: ${file}`,
      ...(backup === null ? [] : [`What was there before: ${backup}`]),
      ...notes,
    ];
  const again = `loopkeeper setup ${client.name}${scope === "project" ? " --scope project" : ""} --write`;
  return [`# ${client.title}: ${file}`, snippet(client, outcome), "", `To merge it into that file: ${again}`, ...notes];
}

function snippet({ format }: Client, { place, entry }: Outcome): string {
  if (format === "toml") return withTomlTable("", place, entry).trimEnd();
  const whole = place.toReversed().reduce<Record<string, unknown>>((inner, name) => ({ [name]: inner }), { ...entry });
  return JSON.stringify(whole, null, 2);
}

/** What holds a password is not written into files of others: how the server comes to it all the same. */
function variableLines(config: Config, { title, environment }: Client, outcome: Outcome): readonly string[] {
  const { named_variables: named, missing_variables: missing } = outcome;
  if (named.length > 0)
    return [`It names these variables, and holds none of their values: ${named.join(", ")}. Set up again when others are set.`];
  if (missing.length > 0)
    return [
      `Not in it, and ${title} does not hand them on: ${missing.join(", ")}. Where the server is to have one, write it into "env" of the entry; --write would take it out again.`,
    ];
  const secrets = ["LOOPKEEPER_DATABASE_URL", "LOOPKEEPER_KEY"].filter((name) => config.env[name] !== undefined);
  return environment !== "all" || secrets.length === 0
    ? []
    : [`Not in it, because they are secrets: ${secrets.join(", ")}. ${title} has to have them in its environment.`];
}
