import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { now } from "../src/run/clock.ts";
import * as checkpoint from "./checkpoint.ts";
import * as disk from "./disk.ts";
import * as explain from "./explain.ts";
import * as ledger from "./ledger.ts";
import * as list from "./list.ts";
import type { Measurement } from "./measurement.ts";
import * as record from "./record.ts";
import * as startUp from "./start-up.ts";

/** `npm run bench [name...]`: measures, prints, and writes bench/README.md when everything was measured. */
const PARTS: Readonly<Record<string, { measure(): Promise<readonly Measurement[]> }>> = {
  record,
  disk,
  "start-up": startUp,
  explain,
  list,
  ledger,
  checkpoint,
};

const wanted = process.argv.slice(2);
const names = wanted.length === 0 ? Object.keys(PARTS) : wanted;
const rows: string[] = [];
for (const name of names) {
  const part = PARTS[name];
  if (part === undefined) throw new Error(`unknown benchmark ${name}; known: ${Object.keys(PARTS).join(", ")}`);
  for (const one of await part.measure()) {
    const verdict = one.limit === null ? "" : one.ratio <= one.limit ? `<= ${one.limit}` : `MISSED ${one.limit}`;
    rows.push(
      `| ${one.name} | ${one.value.toFixed(3)} ${one.unit} | ${one.floor.toFixed(3)} ${one.unit} | ${one.ratio.toFixed(2)} | ${verdict} | ${one.note} |`,
    );
    process.stdout.write(`${rows.at(-1) ?? ""}\n`);
  }
}
if (wanted.length === 0) {
  const machine = `${cpus().length} x ${cpus()[0]?.model ?? "unknown processor"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
  const text = `# Benchmarks\n\nEach number stands beside its floor, the least that the same machine needs for the same bytes in the same run; the ratio is what counts. \`npm run bench\` writes this page.\n\nMachine: ${machine}. Measured ${now()}.\n\n| what | value | floor | ratio | limit | how |\n| --- | --- | --- | --- | --- | --- |\n${rows.join("\n")}\n`;
  writeFileSync(join(import.meta.dirname, "README.md"), text);
}
