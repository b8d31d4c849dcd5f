import { mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { namedPaths } from "../../src/loop/named-paths.ts";

const top = realpathSync(mkdtempSync(join(tmpdir(), "lk-named-")));
symlinkSync(top, `${top}-link`);
afterAll(() => {
  rmSync(top, { recursive: true });
  rmSync(`${top}-link`);
});

/** Of the given paths those that the call names. */
async function named(call: { command?: string; paths?: readonly string[] }, paths: readonly string[]): Promise<string[]> {
  const test = await namedPaths([{ command: call.command ?? null, paths: call.paths ?? [] }], top);
  return paths.filter((path) => test(path));
}

describe("a tool call names", () => {
  test.each([
    ["rm a.txt ./b.txt", ["a.txt", "b.txt", "c.txt"], ["a.txt", "b.txt"]],
    ["cd src && sed -i s/x/y/ x.ts", ["src/x.ts", "x.ts"], ["src/x.ts"]],
    ["rm -rf src", ["src/x.ts", "lib/src/x.ts"], ["src/x.ts"]],
    ["ls src; cat src/x.ts", ["src/x.ts", "src/y.ts"], ["src/x.ts"]],
    ["git status src; git checkout src", ["src/x.ts"], ["src/x.ts"]],
    ["find src -name x", ["src/x.ts"], []],
    ["find src -name x -delete", ["src/x.ts"], ["src/x.ts"]],
    ["rm -f *.log src/**/*.o", ["a.log", "src/a.log", "src/b/c.o", "c.o"], ["a.log", "src/b/c.o"]],
    ["tool --out=dist/app.js > log.txt", ["dist/app.js", "log.txt"], ["dist/app.js", "log.txt"]],
    ['echo x>\'a b.txt\' 2>&1; : > "q\\"t"', ["a b.txt", "a", "1", 'q"t'], ["a b.txt", 'q"t']],
    ["cd src && echo x >> y.ts; cat < in.txt", ["src/y.ts", "y.ts", "src/in.txt"], ["src/y.ts"]],
    ["cat > notes.md <<'EOF'\nsee > other.md\nEOF", ["notes.md", "other.md"], ["notes.md"]],
    ["{ date; ls; } > log.txt", ["log.txt"], ["log.txt"]],
    ["bash -lc 'echo x > notes.md'", ["notes.md"], ["notes.md"]],
    ["echo an apple", ["a", "apple.txt", "n"], []],
    ["npm test", ["test"], ["test"]],
    ["rm ../outside .", ["outside", "a.txt"], []],
  ] as const)("in %s of %j these: %j", async (command, paths, expected) => {
    expect(await named({ command }, paths)).toEqual(expected);
  });

  test("the paths of its locations, whole and by whatever way they lead there, never by their end alone", async () => {
    expect(await named({ paths: [join(top, "src/x.ts")] }, ["src/x.ts", "x.ts"])).toEqual(["src/x.ts"]);
    expect(await named({ paths: [`${top}-link/x.ts`, "/elsewhere/y.ts"] }, ["x.ts", "y.ts"])).toEqual(["x.ts"]);
    expect(await named({ paths: ["odd\ufffd"] }, ["odd\\xff", "odd"])).toEqual(["odd\\xff"]);
  });
});
