import { execFile } from "node:child_process";
import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

/** The Chrome or Chromium that shows the console to tests and takes its pictures. Nothing else knows where one may be. */

const run = promisify(execFile);
const NAMES = ["google-chrome", "google-chrome-stable", "chromium", "chromium-browser"];
const PLACES = [
  ...NAMES.map((name) => join("/usr/bin", name)),
  "/snap/bin/chromium",
  "/opt/google/chrome/chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];
/** Tests of two files may find out at once that there is none: the second waits for the first. */
const INSTALL = `exec 9>"$LOCK"; flock 9; apt-get update -qq; apt-get install -y -qq --no-install-recommends chromium`;

/** The program. Where there is none, root on Debian gets Debian's; anybody else is told what to type. */
export async function chrome(): Promise<string> {
  const here = named() ?? findChrome();
  if (here !== null) return here;
  const failure = process.getuid?.() === 0 && isDebian() ? await install() : null;
  const installed = findChrome();
  if (installed === null) throw new Error(advice(failure));
  return installed;
}

/** What CHROME_PATH says, which is never passed over: who names a browser wants that one. */
function named(): string | null {
  const path = process.env["CHROME_PATH"] ?? "";
  if (path === "") return null;
  if (isProgram(path)) return path;
  throw new Error(`CHROME_PATH is ${path}, which is no program. Let it name a Chrome or Chromium, or unset it.`);
}

function findChrome(): string | null {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = [...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))), ...PLACES];
  return candidates.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isDebian(): boolean {
  try {
    return /^ID=debian$/mu.test(readFileSync("/etc/os-release", "utf8"));
  } catch {
    return false;
  }
}

/** Why it failed; null when it did not. */
async function install(): Promise<string | null> {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", LOCK: join(tmpdir(), "loopkeeper-test-chromium.lock") };
  return run("sh", ["-c", INSTALL], { env }).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

function advice(failure: string | null): string {
  return [
    "The tests of the console need a Chrome or Chromium, and none is found.",
    ...(failure === null ? [] : [`Installing Debian's failed: ${failure.trim()}`]),
    "Install one: `sudo apt-get install -y chromium` (Debian), `sudo snap install chromium` (Ubuntu), `brew install --cask chromium` (macOS);",
    "or name one: CHROME_PATH=/path/to/chrome npm test. All other tests: npx vitest run --exclude 'test/console/**'",
  ].join("\n");
}

// As a program it makes sure that there is one: CI does that while it checks.
if (import.meta.main) process.stdout.write(`${await chrome()}\n`);
