import { expect, it } from "vitest";
import { newProduct } from "../support/product.ts";
import { startServe } from "../support/serve.ts";

const product = await newProduct();
const words = ["--port", "0", "--idle-minutes", "0.15"];

it("a serve ends when nobody asks, and not while somebody follows a stream", async () => {
  const followed = await startServe(product.env, words);
  const reader = new AbortController();
  const stream = await followed.request("/api/events", { signal: reader.signal });
  expect(stream.status).toBe(200);
  // Begun later and as patient, it is over first.
  const left = await startServe(product.env, words);
  expect(await left.exit()).toBe(0);
  expect((await followed.request("/api/session")).status).toBe(200);
  reader.abort();
  expect(await followed.exit()).toBe(0);
});

it("a serve that would be patient for long ends when it is told to", async () => {
  const patient = await startServe(product.env, ["--port", "0", "--idle-minutes", "120"]);
  expect((await patient.request("/api/session")).status).toBe(200);
  patient.child.kill("SIGTERM");
  expect(await patient.exit()).toBe(0);
});

it("an idle time that is none is refused", async () => {
  await expect(startServe(product.env, ["--idle-minutes", "0"])).rejects.toThrow("--idle-minutes takes a number above 0");
});
