import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";

export const ROOT = join(import.meta.dirname, "..", "..", "..");

const reportSchema = z.looseObject({
  diagnostics: z.array(
    z.looseObject({ severity: z.string(), category: z.string(), location: z.looseObject({ path: z.unknown() }).nullish() }),
  ),
});

export interface Finding {
  readonly file: string;
  readonly rule: string;
}

/** The errors that Biome finds in the sources with `planted` among them, in a copy that is deleted afterwards. */
export async function lintWith(planted: Readonly<Record<string, string>>): Promise<readonly Finding[]> {
  const copy = await mkdtemp(join(tmpdir(), "lk-lint-"));
  try {
    for (const part of ["biome.json", "package.json", ".gitignore", "scripts/lint", "src"]) {
      await cp(join(ROOT, part), join(copy, part), { recursive: true });
    }
    for (const [path, text] of Object.entries(planted)) {
      await mkdir(dirname(join(copy, path)), { recursive: true });
      await writeFile(join(copy, path), text);
    }
    return await lint(copy);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

function lint(folder: string): Promise<readonly Finding[]> {
  const args = ["lint", ".", "--reporter=json", "--max-diagnostics=none"];
  return new Promise((resolve, reject) => {
    execFile(
      join(ROOT, "node_modules", ".bin", "biome"),
      args,
      { cwd: folder, maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout, stderr) => {
        const report = reportSchema.safeParse(parseJson(stdout));
        if (!report.success) reject(new Error(`Biome gave no report: ${stderr}`));
        else
          resolve(
            report.data.diagnostics
              .filter(({ severity }) => severity === "error")
              .map(({ category, location }) => ({ file: String(location?.path), rule: category })),
          );
      },
    );
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
