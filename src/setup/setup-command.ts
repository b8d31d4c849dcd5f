import { parseWords } from "../command-words.ts";
import type { Config } from "../config.ts";
import { LoopkeeperError, systemCode } from "../run/errors.ts";
import { VERSION } from "../version.ts";
import { CLIENTS, type Client, type Launch, type Scope } from "./clients.ts";
import { CannotEdit, withJsonEntry } from "./edit-json.ts";
import { withTomlTable } from "./edit-toml.ts";
import { replaceFile, textOf } from "./write-file.ts";

const NAME = "loopkeeper";

export const SETUP_HELP = `Usage: loopkeeper setup <client> [--write] [--scope user|project]

Prints the configuration that makes a client start this Loopkeeper, and where it belongs. With --write it is merged into that
file: everything else in it stays, a copy of the file is kept beside it, and a file that cannot be read is not touched.

Clients: ${CLIENTS.map((client) => client.name).join(", ")}

  --write            write it
  --print            only print it (the default)
  --scope user       for you, in every folder (the default)
  --scope project    for the folder you stand in; its file names paths of this machine

Examples:
  loopkeeper setup claude-code --write
  loopkeeper setup vscode --scope project
`;

const OPTIONS = {
  write: { type: "boolean" },
  print: { type: "boolean" },
  scope: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

/** `loopkeeper setup <client>`. Resolves to the exit code. */
export async function runSetupCommand(config: Config, words: readonly string[]): Promise<number> {
  const wishes = wishesOf(words);
  if (wishes === null) {
    process.stdout.write(SETUP_HELP);
    return 0;
  }
  const { client, scope } = wishes;
  const file = client.file(scope, { platform: process.platform, home: config.user_home, cwd: config.cwd, env: config.env });
  if (file === null)
    throw new LoopkeeperError("bad_input", `${client.title} has no configuration of a project. Leave --scope out.`);
  const entry = client.entry(launchOf(config, client));
  const lines = wishes.write ? written(client, file, entry) : printed(client, file, scope, entry);
  process.stdout.write(`${[...lines, ...secretsLeftOut(config)].join("\n")}\n`);
  return 0;
}

function wishesOf(words: readonly string[]): { readonly client: Client; readonly scope: Scope; readonly write: boolean } | null {
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
  return { client, scope, write: values.write === true && values.print !== true };
}

/**
 * This very program with the Node that runs it: a client started from a desktop has another PATH, and another Node there may be
 * too old. Out of npx's cache, which is emptied now and then, it is npx again.
 */
function launchOf(config: Config, client: Client): Launch {
  const [bin = ""] = config.self.args;
  const { LOOPKEEPER_HOME, XDG_STATE_HOME, LOOPKEEPER_CONFIG, PATH } = config.env;
  const env = {
    ...(LOOPKEEPER_HOME === undefined && XDG_STATE_HOME === undefined ? {} : { LOOPKEEPER_HOME: config.home }),
    ...(LOOPKEEPER_CONFIG === undefined || config.config_path === null ? {} : { LOOPKEEPER_CONFIG: config.config_path }),
    ...(client.desktop && PATH !== undefined ? { PATH } : {}),
  };
  if (/[\\/]_npx[\\/]/u.test(bin)) return { command: "npx", args: ["-y", `loopkeeper@${VERSION}`, "mcp"], env };
  return { command: config.self.command, args: [bin, "mcp"], env };
}

function printed(client: Client, file: string, scope: Scope, entry: Readonly<Record<string, unknown>>): string[] {
  const place = [...client.at, NAME];
  const whole = place.toReversed().reduce<Record<string, unknown>>((inner, name) => ({ [name]: inner }), { ...entry });
  const text = client.format === "toml" ? withTomlTable("", place, entry).trimEnd() : JSON.stringify(whole, null, 2);
  const again = `loopkeeper setup ${client.name}${scope === "project" ? " --scope project" : ""} --write`;
  return [`# ${client.title}: ${file}`, text, "", `To merge it into that file: ${again}`, `Then check: ${client.check}`];
}

function written(client: Client, file: string, entry: Readonly<Record<string, unknown>>): string[] {
  try {
    const before = textOf(file);
    const place = [...client.at, NAME];
    const text =
      client.format === "toml"
        ? withTomlTable(before ?? "", place, entry)
        : withJsonEntry(before ?? "", place, entry, { comments: client.format === "jsonc" });
    if (text === before) return [`${client.title} is set up already: ${file}`, `To check: ${client.check}`];
    const backup = replaceFile(file, text);
    return [
      `${client.title} starts this Loopkeeper now: ${file}`,
      ...(backup === null ? [] : [`What was there before: ${backup}`]),
      `To check: ${client.check}`,
    ];
  } catch (error) {
    const why = error instanceof CannotEdit ? error.message : systemCode(error);
    if (why === null) throw error;
    throw new LoopkeeperError(
      "bad_input",
      `${file} was not touched: ${why}. Correct it, or add the entry by hand: loopkeeper setup ${client.name} prints it.`,
    );
  }
}

/** What holds a password is not written into files of others. */
function secretsLeftOut(config: Config): string[] {
  const names = ["LOOPKEEPER_DATABASE_URL", "LOOPKEEPER_KEY"].filter((name) => config.env[name] !== undefined);
  return names.length === 0
    ? []
    : [`Not in it, because they are secrets: ${names.join(", ")}. The client has to have them in its environment.`];
}
