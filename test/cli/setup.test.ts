import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { parse } from "smol-toml";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { withJsonEntry } from "../../src/setup/edit-json.ts";
import { withTomlTable } from "../../src/setup/edit-toml.ts";
import { BIN } from "../support/product.ts";

let home = "";
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "lk-setup-")));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));
const KEY = "00".repeat(32);
const answer = z.looseObject({ file: z.string(), state: z.string(), entry: z.record(z.string(), z.unknown()) });

function setup(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = { PATH: process.env["PATH"], HOME: home, LOOPKEEPER_HOME: join(home, "state"), LOOPKEEPER_KEY: KEY };
  return new Promise((resolve) => {
    // A umask of a careful person must not narrow a file that others read.
    const command = ["-c", 'umask 077; exec "$@"', "sh", process.execPath, BIN, "setup", ...words];
    execFile("sh", command, { cwd: home, env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

function put(path: string, text: string, mode = 0o640): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode });
  return file;
}

const entry = { command: "node", args: ["x"] };
const json = (text: string, comments = true) => withJsonEntry(text, ["servers", "loopkeeper"], entry, { comments });
const toml = (text: string) => withTomlTable(text, ["mcp_servers", "loopkeeper"], { ...entry, env: { A: "b" } });

describe("an entry in JSON", () => {
  it("keeps comments, order, indentation and line ends", () => {
    const before =
      '// mine\r\n{\r\n\t"z": 1, // last\r\n\t"servers": {\r\n\t\t// other\r\n\t\t"a": {\r\n\t\t\t"command": "y"\r\n\t\t}\r\n\t}\r\n}\r\n';
    const after = json(before);
    for (const kept of ["// mine\r\n", '\t"z": 1, // last\r\n', "\t\t// other\r\n"]) expect(after).toContain(kept);
    expect(after).toContain('\t\t"loopkeeper": {\r\n');
    expect(json(after)).toBe(after);
  });

  it.each([
    [
      "siblings on one line",
      '{"servers": {"a":  {"command":"y"}}, "z":1}',
      '{"servers": {"a":  {"command":"y"}, "loopkeeper": {"command":"node","args":["x"]}}, "z":1}',
    ],
    [
      "a comment behind the last sibling",
      '{\n "servers": {\n  "a": [ 1,2 ] // of a\n }\n}',
      '{\n "servers": {\n  "a": [ 1,2 ], // of a\n  "loopkeeper": {\n   "command": "node",\n   "args": [\n    "x"\n   ]\n  }\n }\n}',
    ],
    [
      "a trailing comma",
      '{\n  "servers": {"a": {}, /* both */\n    "b": {}, // of b\n    // the end\n  },\n}\n',
      '{\n  "servers": {"a": {}, /* both */\n    "b": {}, // of b\n    "loopkeeper": {\n      "command": "node",\n      "args": [\n        "x"\n      ]\n    }\n    // the end\n  },\n}\n',
    ],
    [
      "an entry of before, and a sibling after it",
      '{ "servers": { "loopkeeper": {"command": "old"}, /* of b */ "b":{} } }',
      '{ "servers": { "loopkeeper": {\n  "command": "node",\n  "args": [\n    "x"\n  ]\n}, /* of b */ "b":{} } }',
    ],
  ])("leaves every byte of others where there is %s", (_what, before, after) => {
    expect(json(before)).toBe(after);
    expect(json(after)).toBe(after);
  });

  it.each([
    ["nothing", ""],
    ["blanks", " \n"],
    ["a byte order mark", "\ufeff{}"],
    ["an older entry", '{"servers": {"loopkeeper": {"command": "old", "env": {"A": "b"}}}}'],
  ])("is made in a file of %s", (_what, before) => {
    expect(JSON.parse(json(before).replace("\ufeff", ""))).toEqual({ servers: { loopkeeper: entry } });
  });

  it.each([
    ["that breaks off", '{"servers": {', true],
    ["with comments where the client takes none", "{} // no", false],
    ["that holds a list", "[]", true],
    ["whose place holds something else", '{"servers": []}', true],
  ])("is refused in a file %s", (_what, before, comments) => {
    expect(() => json(before, comments)).toThrow();
  });
});

describe("a table in TOML", () => {
  it("replaces its own lines alone and keeps all comments", () => {
    const before =
      '# top\nmodel = "m" # keep\n\n[mcp_servers.loopkeeper]\ncommand = "old"\n[mcp_servers.loopkeeper.env]\nOLD = "1"\n\n# about other\n[mcp_servers.other]\ncommand = "z"\n[[list]]\na = 1\n';
    const after = toml(before);
    for (const kept of ["# top\n", 'model = "m" # keep\n', "# about other\n[mcp_servers.other]\n", "[[list]]\na = 1\n"])
      expect(after).toContain(kept);
    expect(parse(after)).toMatchObject({
      mcp_servers: { loopkeeper: { command: "node", env: { A: "b" } }, other: { command: "z" } },
    });
    expect(after).not.toContain("OLD");
    expect(toml(after)).toBe(after);
    expect(toml(before.replaceAll("\n", "\r\n"))).toBe(after.replaceAll("\n", "\r\n"));
  });

  it.each([
    ["that cannot be read", "model = "],
    ["that has it in one line", 'mcp_servers = { loopkeeper = { command = "old" } }'],
    ["that has it under a quoted name", '[mcp_servers."loopkeeper"]\ncommand = "old"\n'],
  ])("is refused in a file %s", (_what, before) => {
    expect(() => toml(before)).toThrow();
  });
});

describe("setup", () => {
  it("writes what starts this server, keeps a copy and the rights, and says so a second time", async () => {
    const target = put("dotfiles/mcp.json", '{"mcpServers": {"other": {"command": "y"}}}', 0o664);
    chmodSync(target, 0o664);
    mkdirSync(join(home, ".cursor"));
    symlinkSync(target, join(home, ".cursor/mcp.json"));
    const first = await setup("cursor", "--write");
    expect(first.code).toBe(0);
    expect(first.out).toContain("LOOPKEEPER_KEY");
    expect(first.out + readFileSync(target, "utf8")).not.toContain(KEY);
    expect(statSync(target).mode & 0o777).toBe(0o664);
    expect(JSON.parse(readFileSync(`${target}.bak`, "utf8"))).toEqual({ mcpServers: { other: { command: "y" } } });
    expect((await setup("cursor", "--write")).out).toContain("set up already");
    expect(readdirSync(dirname(target))).toEqual(["mcp.json", "mcp.json.bak"]);
    const schema = z.object({
      mcpServers: z.looseObject({
        loopkeeper: z.object({ command: z.string(), args: z.array(z.string()), env: z.record(z.string(), z.string()) }),
      }),
    });
    const client = new Client({ name: "setup", version: "0" });
    await client.connect(new StdioClientTransport(schema.parse(JSON.parse(readFileSync(target, "utf8"))).mcpServers.loopkeeper));
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain("run_resume");
    await client.close();
  });

  it.each([
    ["gemini", ".gemini/settings.json", '{\n  "mcpServers": {,\n}\n', "line 2, column 18 cannot be read (value expected)"],
    ["codex", ".codex/config.toml", 'model = "m"\n[a\n', "line 2, column 3 cannot be read as TOML"],
  ])("leaves a file of %s alone that it cannot read, and names the place", async (client, path, broken, fault) => {
    const file = put(path, broken);
    const { code, err } = await setup(client, "--write");
    expect(code).toBe(1);
    expect(err).toContain(`${file} was not touched: ${fault}`);
    expect(readFileSync(file, "utf8")).toBe(broken);
    expect(readdirSync(dirname(file))).toEqual([basename(file)]);
  });

  it("writes the file that a link leads to, though it is not there yet", async () => {
    const link = join(home, ".config/opencode/opencode.json");
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync("../../dotfiles/new/opencode.json", link);
    expect((await setup("opencode", "--write")).code).toBe(0);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(home, "dotfiles/new/opencode.json"), "utf8")).toContain("loopkeeper");
  });

  it.each(["claude-code", "claude-desktop", "cursor", "vscode", "codex", "opencode", "gemini"])(
    "changes nothing the second time for %s, and says both in --json",
    async (client) => {
      const first = answer.parse(JSON.parse((await setup(client, "--write", "--json")).out));
      const text = readFileSync(first.file, "utf8");
      const second = answer.parse(JSON.parse((await setup(client, "--write", "--json")).out));
      expect(second).toEqual({ ...first, state: "unchanged", backup: null });
      expect(readFileSync(first.file, "utf8")).toBe(text);
      expect(text).not.toContain(KEY);
    },
  );

  it("names secrets to the clients that hand on what is named, and says where none arrives", async () => {
    const [codex, gemini, desktop] = await Promise.all(
      ["codex", "gemini", "claude-desktop"].map((client) => setup(client, "--json")),
    );
    const of = (outcome: { readonly out: string } | undefined) => answer.parse(JSON.parse(outcome?.out ?? ""));
    expect(of(codex)).toMatchObject({ entry: { env_vars: ["LOOPKEEPER_KEY"] }, named_variables: ["LOOPKEEPER_KEY"] });
    expect(of(gemini)).toMatchObject({ entry: { env: { LOOPKEEPER_KEY: "$LOOPKEEPER_KEY" } } });
    expect(of(desktop)).toMatchObject({ named_variables: [], missing_variables: ["LOOPKEEPER_KEY"] });
  });

  it("writes into the file of Claude Code's first versions where Claude Code still reads that one", async () => {
    const file = put(".claude/.config.json", '{"mcpServers": {}}');
    expect((await setup("claude-code", "--write")).out).toContain(file);
  });

  it("prints by default and writes nothing", async () => {
    const outs = await Promise.all(["codex", "opencode", "claude-desktop"].map((client) => setup(client)));
    expect(outs.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(outs[0]?.out).toContain("[mcp_servers.loopkeeper]");
    expect(outs[1]?.out).toContain('"type": "local"');
    expect(outs[2]?.out).toContain('"PATH"');
    expect(existsSync(join(home, ".codex"))).toBe(false);
  });
});
