import { expect, it } from "vitest";
import { sleep } from "../../src/run/clock.ts";
import { Changes } from "../../src/server/changes.ts";
import { eventStream, type Reading } from "../../src/server/sse.ts";

function streamOf(reading: Reading, ended = new AbortController().signal) {
  let stamp = 0;
  const looks = { count: 0, ends: 0 };
  const changes = new Changes(async () => {
    looks.count += 1;
    return String(stamp);
  });
  const stream = eventStream(reading, {
    changes,
    ended,
    onFault: () => undefined,
    drop: () => undefined,
    onEnd: () => {
      looks.ends += 1;
    },
  });
  return { reader: stream.getReader(), looks, write: () => (stamp += 1) };
}

const textOf = ({ value }: { readonly value?: Uint8Array | undefined }): string => new TextDecoder().decode(value);

it("a stream reads no further than its client takes", async () => {
  let readings = 0;
  const { reader } = streamOf(async () => {
    readings += 1;
    return [{ id: String(readings), data: { n: readings } }];
  });
  expect(textOf(await reader.read())).toContain("retry: ");
  await sleep(50);
  expect(readings).toBe(0);
  expect(textOf(await reader.read())).toBe('id: 1\ndata: {"n":1}\n\n');
  await sleep(50);
  expect(readings).toBe(1);
  await reader.cancel();
});

it("a stream waits for a write, misses none that comes while it reads, and looks at nothing once it was closed", async () => {
  const pending = ["first"];
  const { reader, looks, write } = streamOf(async () => {
    const texts = pending.splice(0);
    // Written after it looked.
    if (texts.includes("first")) {
      pending.push("second");
      write();
    }
    return texts.map((text) => ({ id: text, data: { text } }));
  });
  await reader.read();
  expect(textOf(await reader.read())).toContain("first");
  expect(textOf(await reader.read())).toContain("second");
  const third = reader.read();
  await sleep(50);
  pending.push("third");
  write();
  expect(textOf(await third)).toContain("third");
  await reader.cancel();
  expect(looks.ends).toBe(1);
  await sleep(600);
  const { count } = looks;
  await sleep(600);
  expect(looks.count).toBe(count);
});

it("a stream outlives a fault of what it reads, and ends with the server", async () => {
  const server = new AbortController();
  let faults = 1;
  const { reader, looks } = streamOf(async () => {
    if (faults-- > 0) throw new Error("the store is away");
    return [{ id: "1", data: {} }];
  }, server.signal);
  await reader.read();
  expect(textOf(await reader.read())).toBe(": beat\n\n");
  expect(textOf(await reader.read())).toContain("id: 1");
  server.abort();
  expect(await reader.read()).toMatchObject({ done: true });
  expect(looks.ends).toBe(1);
});
