#!/usr/bin/env node
import module from "node:module";
import { join } from "node:path";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 12)) {
  // An older Node would end in a crash of the database module, without a word.
  process.stderr.write(`Loopkeeper needs Node 22.12 or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}

// Beside the program's own files, as trusted as they are (the default place is a shared temp folder); where it cannot be
// written, start-up is as slow as without it. Everything else is loaded after this, so that it comes out of the cache.
module.enableCompileCache(join(import.meta.dirname, "../.compile-cache"));

const { run } = await import("../main.ts");
process.exitCode = await run(process.argv.slice(2));
