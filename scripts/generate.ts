// Writes every file that is made from code. The contract tests are red while one of them is stale.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { generatedFiles } from "./generated-files.ts";

for (const file of await generatedFiles()) {
  const path = join(import.meta.dirname, "..", file.path);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, file.content);
  console.log(`wrote ${file.path}`);
}
