import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { systemCode } from "../run/errors.ts";

/** The file's text; null when there is none. */
export function textOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

/**
 * Puts a new text in a file's place in one step, so that a client that reads it meanwhile sees the old or the new one. Of what
 * was there a copy is kept; a link stays a link, since settings are often kept elsewhere. Answers the copy's name, or null.
 */
export function replaceFile(file: string, text: string): string | null {
  const there = existsSync(file);
  const real = there ? realpathSync(file) : endOfLinks(file);
  mkdirSync(dirname(real), { recursive: true });
  const backup = there ? freeName(real) : null;
  if (backup !== null) copyFileSync(real, backup, constants.COPYFILE_EXCL);
  const own = join(dirname(real), `.loopkeeper-${process.pid}.tmp`);
  try {
    writeFileSync(own, text, { mode: 0o600, flag: "wx" });
    if (there) chmodSync(own, statSync(real).mode & 0o777);
    renameSync(own, real);
  } finally {
    rmSync(own, { force: true });
  }
  return backup;
}

/** Where a link leads whose file is not there yet. */
function endOfLinks(file: string): string {
  const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink ? endOfLinks(resolve(dirname(file), readlinkSync(file))) : file;
}

function freeName(file: string): string {
  for (let number = 1; ; number += 1) {
    const name = `${file}.bak${number === 1 ? "" : number}`;
    if (!existsSync(name)) return name;
  }
}
