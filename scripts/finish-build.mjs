// After tsc: the bin starts by itself, and nothing is left in dist of a source that is gone (a renamed tool would still load).
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { bundle } from "./bundle.mjs";

const ROOT = join(import.meta.dirname, "..");
const DIST = join(ROOT, "dist");
const SHEBANG = "#!/usr/bin/env node\n";

removeLeftovers();
await bundle(ROOT);
makeExecutable(join(DIST, "bin", "loopkeeper.js"));

function removeLeftovers() {
  for (const entry of readdirSync(DIST, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const built = join(entry.parentPath, entry.name);
    // The console is built by itself, out of another kind of sources.
    if (built.startsWith(join(DIST, "console"))) continue;
    const source = relative(DIST, built).replace(/(\.d\.ts|\.js)$/, ".ts");
    if (source.endsWith(".ts") && !existsSync(join(ROOT, "src", source))) rmSync(built);
  }
}

function makeExecutable(bin) {
  const text = readFileSync(bin, "utf8");
  if (!text.startsWith("#!")) writeFileSync(bin, SHEBANG + text);
  chmodSync(bin, 0o755);
}
