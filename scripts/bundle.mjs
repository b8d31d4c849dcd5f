// What the bin loads, in a few files instead of some eight hundred: finding and linking modules is most of what a start costs, and a
// run starts four processes. The bundle takes the place of dist/main.js; what others import from the package stays as tsc made it.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";

const PREFIX = "bundle-";
/** They load native code, or are not there. */
const LEFT_OUT = ["better-sqlite3", "pg-native"];
const LICENSES = "THIRD-PARTY-LICENSES.txt";

/** Writes the bundle of `<root>/src/main.ts` into `<root>/dist`, with the licenses of all that is in it. */
export async function bundle(root) {
  const dist = join(root, "dist");
  for (const name of readdirSync(dist)) if (name.startsWith(PREFIX)) rmSync(join(dist, name));
  const output = await build({
    root,
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: "warn",
    ssr: { noExternal: true, external: LEFT_OUT, target: "node" },
    build: {
      ssr: true,
      target: "node22",
      outDir: dist,
      emptyOutDir: false,
      minify: false,
      rollupOptions: {
        input: { main: join(root, "src/main.ts") },
        // Beside main.js: modules look for bin and console from where they are.
        output: { format: "es", entryFileNames: "[name].js", chunkFileNames: `${PREFIX}[name]-[hash].js` },
      },
    },
  });
  const modules = output.output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
  writeFileSync(join(dist, LICENSES), licensesOf(packagesOf(modules)));
}

function packagesOf(modules) {
  const folders = modules.flatMap((id) => /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? []);
  return [...new Set(folders)].sort();
}

function licensesOf(folders) {
  return folders.map(licenseOf).join(`\n${"-".repeat(80)}\n\n`);
}

function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
  const text = file !== undefined && existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8") : "";
  return `${name} ${version} (${license})\n\n${text.trim()}\n`;
}
