import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCheckpoints } from "../src/checkpoint/create.ts";
import { makeSandbox } from "../test/support/repos.ts";
import { type Measurement, measurement, quantile, timed } from "./measurement.ts";

const FILES = 100_000;
const FOLDERS = 1_000;
const ROUNDS = 9;

/** A checkpoint of an unchanged large tree against what plain git needs to look at the same tree. */
export async function measure(): Promise<Measurement[]> {
  const box = makeSandbox();
  try {
    const top = makeLargeTree(box.repo("large", { commit: false }), (args) => box.git(join(box.dir, "large"), ...args));
    const checkpoints = createCheckpoints({ env: box.env, home: box.home });
    const repo = await checkpoints.discover(top);
    let count = 0;
    const capture = () => {
      count += 1;
      return checkpoints.capture(repo, { run_id: "run_bench", id: `cp_${count}`, kind: "iteration" });
    };
    const status = () => execFileSync("git", ["status", "--porcelain", "-uall"], { cwd: top, env: box.env });
    await capture();
    await capture();
    status();
    const [ours, plain]: [number[], number[]] = [[], []];
    // In turn, so that a busy moment of the machine hits both alike.
    for (let round = 0; round < ROUNDS; round += 1) {
      plain.push(await timed(status));
      ours.push(await timed(capture));
    }
    return [
      measurement({
        name: `checkpoint of an unchanged tree of ${FILES} files, warm`,
        value: quantile(ours, 0.5),
        floor: quantile(plain, 0.5),
        limit: 1.5,
        unit: "ms",
        note: "floor: git status -uall of the same tree",
      }),
    ];
  } finally {
    box.remove();
  }
}

function makeLargeTree(top: string, git: (args: readonly string[]) => string): string {
  for (let folder = 0; folder < FOLDERS; folder += 1) {
    const path = join(top, `d${folder % 40}`, `e${folder}`);
    mkdirSync(path, { recursive: true });
    for (let file = 0; file < FILES / FOLDERS; file += 1)
      writeFileSync(join(path, `f${file}.ts`), `export const n = ${folder * 1000 + file};\n`);
  }
  git(["add", "."]);
  git(["commit", "-qm", "large"]);
  return top;
}
