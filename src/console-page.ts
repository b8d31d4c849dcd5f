import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { epochMs } from "./run/clock.ts";
import { TICKET_SECONDS } from "./server/auth.ts";

/**
 * The file that `open` starts a browser with: what a program is started with can be read by every user of the machine, a file of
 * mode 0600 by its owner alone. It leads on to the console with a ticket, and goes when the ticket was redeemed.
 */

const FORMAT = /^console-[\w-]{22}\.html$/u;
const pageOf = (home: string, ticket: string): string => join(home, `console-${ticket}.html`);

/** Writes the page of this ticket; answers its path. Pages whose ticket nobody redeemed in time go first. */
export function writePage(home: string, ticket: string, address: string): string {
  removeOverduePages(home);
  const file = pageOf(home, ticket);
  const html = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=${address}"><title>Loopkeeper</title>\n`;
  writeFileSync(file, html, { mode: 0o600, flag: "wx" });
  return file;
}

export function removePage(home: string, ticket: string): void {
  rmSync(pageOf(home, ticket), { force: true });
}

function removeOverduePages(home: string): void {
  const overdue = epochMs() - TICKET_SECONDS * 1000;
  for (const name of readdirSync(home).filter((one) => FORMAT.test(one))) {
    const info = statSync(join(home, name), { throwIfNoEntry: false });
    if (info !== undefined && info.mtimeMs < overdue) rmSync(join(home, name), { force: true });
  }
}
