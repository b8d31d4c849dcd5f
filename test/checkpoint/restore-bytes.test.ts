import { type ChildProcess, spawn } from "node:child_process";
import { linkSync, mkdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Captured, Checkpoints } from "../../src/checkpoint/checkpoint.ts";
import { manifest, read, type Sandbox, write } from "../support/repos.ts";
import { makeRestoring } from "./restoring.ts";

let box: Sandbox;
let checkpoints: Checkpoints;
let capture: (top: string) => Promise<Captured>;
let planBack: ReturnType<typeof makeRestoring>["planBack"];
beforeEach(() => {
  ({ box, checkpoints, capture, planBack } = makeRestoring());
});
afterEach(() => box.remove());

function endGroup(child: ChildProcess): void {
  if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
}

describe("links", () => {
  test("are restored as links and never written through (C12)", async () => {
    const top = box.repo();
    write(top, "conf/a", "inside");
    symlinkSync("a.txt", join(top, "alias"));
    mkdirSync(join(box.dir, "victim"));
    write(box.dir, "victim/a", "outside");
    const start = await capture(top);
    rmSync(join(top, "conf"), { recursive: true });
    symlinkSync(join(box.dir, "victim"), join(top, "conf"));
    rmSync(join(top, "alias"));
    write(top, "alias", "a file now");
    const stop = await capture(top);
    const result = await (await planBack(top, start, stop)).apply();
    expect(read(top, "conf/a")).toBe("inside");
    expect(readlinkSync(join(top, "alias"))).toBe("a.txt");
    expect(read(box.dir, "victim/a")).toBe("outside");
    await (await planBack(top, result.safety, start)).apply();
    expect(readlinkSync(join(top, "conf"))).toBe(join(box.dir, "victim"));
    expect(manifest(join(box.dir, "victim"))).toEqual({ a: expect.stringContaining("file") });
  });

  test("of somebody else in the place of a folder make what lies beneath a conflict", async () => {
    const top = box.repo();
    write(top, "conf/a", "before");
    write(top, "conf/gone", "before");
    const start = await capture(top);
    write(top, "conf/a", "run");
    rmSync(join(top, "conf/gone"));
    const stop = await capture(top);
    rmSync(join(top, "conf"), { recursive: true });
    write(box.dir, "victim/a", "outside");
    symlinkSync(join(box.dir, "victim"), join(top, "conf"));
    const { plan, apply } = await planBack(top, start, stop, { overwrite: ["conf/a"] });
    expect(plan).toMatchObject({ restore: [], conflicts: ["conf/a", "conf/gone"] });
    await apply();
    expect(manifest(join(box.dir, "victim"))).toEqual({ a: expect.stringContaining("file") });
  });

  test("C12: a folder that becomes a link while the restore writes leads nothing outside, and what it held is kept", async () => {
    const top = box.repo();
    const names = Array.from({ length: 60 }, (_, n) => `conf/f${n}`);
    for (const name of names) write(top, name, `${name} before`);
    for (const name of names) write(box.dir, name.replace("conf", "victim"), "outside");
    const outside = manifest(join(box.dir, "victim"));
    const start = await capture(top);
    for (const name of names) write(top, name, `${name} run`);
    const stop = await capture(top);
    const swap = () => {
      renameSync(join(top, "conf"), join(top, "aside"));
      symlinkSync(join(box.dir, "victim"), join(top, "conf"));
    };
    // Before the first write: refused as a whole.
    const first = await planBack(top, start, stop);
    await expect(first.apply(async () => swap())).rejects.toMatchObject({ code: "repository_problem" });
    expect(manifest(join(box.dir, "victim"))).toEqual(outside);
    expect(read(top, "aside/f1")).toBe("conf/f1 run");
    rmSync(join(top, "conf"));
    renameSync(join(top, "aside"), join(top, "conf"));
    // All the while: every write is inside, or is not made.
    let swapping: ChildProcess | null = null;
    const second = await planBack(top, start, stop);
    await second
      .apply(async () => {
        const script = `while :; do mv conf aside; ln -s ${box.dir}/victim conf; rm conf; mv aside conf; done`;
        swapping = spawn("sh", ["-c", script], { cwd: top, stdio: "ignore", detached: true });
      })
      .catch(() => {});
    if (swapping !== null) endGroup(swapping);
    expect(manifest(join(box.dir, "victim"))).toEqual(outside);
  });

  test("what somebody else writes in the last moment is kept, and the rest can be finished", async () => {
    const top = box.repo();
    const start = await capture(top);
    write(top, "a.txt", "run\n");
    write(top, "b.txt", "run\n");
    const stop = await capture(top);
    const { apply } = await planBack(top, start, stop);
    await expect(apply(async () => write(top, "b.txt", "a person, just now\n"))).rejects.toThrow(/b\.txt changed/u);
    expect([read(top, "a.txt"), read(top, "b.txt")]).toEqual(["run\n", "a person, just now\n"]);
    const again = await planBack(top, start, stop);
    expect(again.plan).toMatchObject({ restore: ["a.txt"], conflicts: ["b.txt"] });
    await again.apply();
    expect([read(top, "a.txt"), read(top, "b.txt")]).toEqual(["a\n".repeat(20), "a person, just now\n"]);
  });

  test("hard links to a restored file keep their bytes", async () => {
    const top = box.repo();
    const start = await capture(top);
    write(top, "a.txt", "run\n");
    linkSync(join(top, "a.txt"), join(box.dir, "outside"));
    const stop = await capture(top);
    await (await planBack(top, start, stop)).apply();
    expect(read(top, "a.txt")).toBe("a\n".repeat(20));
    expect(read(box.dir, "outside")).toBe("run\n");
  });

  test("a folder with files of others in the place of a run's file is a conflict", async () => {
    const top = box.repo();
    write(top, "thing", "before");
    const start = await capture(top);
    rmSync(join(top, "thing"));
    write(top, "thing/mine", "run");
    const stop = await capture(top);
    write(top, ".git/info/exclude", "secret\n");
    write(top, "thing/secret", "ignored, a person's");
    const { plan } = await planBack(top, start, stop);
    expect(plan).toMatchObject({ restore: [], remove: ["thing/mine"], conflicts: ["thing"] });
  });
});

describe("bytes and modes", () => {
  test("of names, Latin-1 and binary files survive a round trip (C14)", async () => {
    const top = box.repo();
    const odd = Buffer.concat([Buffer.from(`${top}/odd`), Buffer.from([0xff]), Buffer.from("\\n")]);
    write(top, "latin1.txt", Buffer.from([0xe9, 0x0a]));
    write(top, "binary", Buffer.from([0, 1, 2, 255]));
    const start = await capture(top);
    const before = manifest(top);
    writeFileSync(odd, Buffer.from([0xff, 0, 0xfe]));
    write(top, "latin1.txt", Buffer.from([0xe9, 0xe8, 0x0a]));
    write(top, "binary", Buffer.from([0, 1, 2, 3, 255]));
    write(top, "new\nline", "x");
    const stop = await capture(top);
    const after = manifest(top);
    const { plan, apply } = await planBack(top, start, stop);
    expect(plan.remove).toEqual(["new\nline", "odd\\xff\\\\n"]);
    const result = await apply();
    expect(manifest(top)).toEqual(before);
    await (await planBack(top, result.safety, start)).apply();
    expect(manifest(top)).toEqual(after);
  });

  test("of files that git converts come back exactly", async () => {
    const top = box.repo();
    write(top, ".gitattributes", "*.bat text eol=crlf\n*.sh text eol=lf\n*.u16 text working-tree-encoding=UTF-16\n*.id ident\n");
    write(top, "x.bat", "a\nb\n");
    write(top, "mixed.bat", "l1\r\nl2\nl3\r\n");
    write(top, "y.sh", "a\r\nb\n");
    write(top, "z.u16", Buffer.from("\ufeffhé\n", "utf16le"));
    write(top, "q.id", "$Id$\n");
    const start = await capture(top);
    const before = manifest(top);
    for (const path of ["x.bat", "mixed.bat", "y.sh", "q.id"]) write(top, path, "run\n");
    write(top, "z.u16", Buffer.from("\ufeffrun\n", "utf16le"));
    const stop = await capture(top);
    const after = manifest(top);
    const result = await (await planBack(top, start, stop)).apply();
    expect(manifest(top)).toEqual(before);
    await (await planBack(top, result.safety, start)).apply();
    expect(manifest(top)).toEqual(after);
  });

  test("modes other than 644 and 755 come back", async () => {
    const top = box.repo();
    write(top, "key", "secret", 0o600);
    write(top, "tool", "#!/bin/sh\n", 0o700);
    const start = await capture(top);
    const before = manifest(top);
    rmSync(join(top, "key"));
    write(top, "tool", "changed", 0o644);
    const stop = await capture(top);
    await (await planBack(top, start, stop)).apply();
    expect(manifest(top)).toEqual(before);
  });

  test("a file of a run that is over the size limit is in the safety checkpoint", async () => {
    const top = box.repo();
    const start = await capture(top);
    writeFileSync(join(top, "a.txt"), Buffer.alloc(51 * 2 ** 20));
    const result = await (await planBack(top, start, await capture(top))).apply();
    expect(box.git(top, "cat-file", "-s", `${result.safety.ref}:a.txt`)).toBe(String(51 * 2 ** 20));
    expect(readFileSync(join(top, "a.txt"), "utf8")).toBe("a\n".repeat(20));
  });
});

describe("garbage collection (C17)", () => {
  test("takes nothing that a checkpoint holds", async () => {
    const top = box.repo();
    write(top, "u", "untracked");
    const start = await capture(top);
    const before = manifest(top);
    write(top, "u", "run");
    write(top, "v", "run");
    const stop = await capture(top);
    box.sh(top, "git reflog expire --expire=now --all; git gc -q --prune=now; git prune");
    const result = await (await planBack(top, start, stop)).apply();
    expect(manifest(top)).toEqual(before);
    expect(await checkpoints.isPresent(await checkpoints.discover(top), result.safety.commit)).toBe(true);
  });

  test("of a checkpoint whose ref is gone is seen", async () => {
    const top = box.repo();
    write(top, "u", "untracked");
    const start = await capture(top);
    box.git(top, "update-ref", "-d", start.ref);
    box.git(top, "gc", "-q", "--prune=now");
    expect(await checkpoints.isPresent(await checkpoints.discover(top), start.commit)).toBe(false);
  });
});
