import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { sha256 } from "../../src/run/id.ts";
import type { Store } from "../../src/store/store.ts";
import { aNewRun } from "../support/records.ts";
import { backends, newStorePlace, rawSql, type StorePlace } from "../support/stores.ts";

for (const backend of backends) {
  describe(`artifacts in ${backend}`, () => {
    let place: StorePlace;
    let store: Store;
    beforeAll(async () => {
      place = await newStorePlace(backend);
      store = await place.open();
    });

    it("are named by their content and kept once", async () => {
      const bytes = randomBytes(1024 * 1024);
      const ids = await Promise.all([store.putArtifact(bytes), store.putArtifact(bytes)]);
      expect(ids).toEqual([sha256(bytes), sha256(bytes)]);
      expect(await store.putArtifact(bytes)).toBe(sha256(bytes));
      expect(Buffer.compare((await store.artifact(sha256(bytes))) ?? Buffer.of(), bytes)).toBe(0);
      expect(await rawSql(place, `select id from artifacts where id = '${sha256(bytes)}'`)).toHaveLength(1);
      expect(await store.artifact(sha256("none"))).toBeNull();
    });

    it("keep no bytes at all as content too", async () => {
      const id = await store.putArtifact(new Uint8Array());
      expect(await store.artifact(id)).toHaveLength(0);
    });

    it("make up a run's thing in order, until another list replaces it", async () => {
      const { run_id } = await store.createRun(aNewRun());
      const [a = "", b = ""] = await Promise.all(["a", "b"].map((text) => store.putArtifact(Buffer.from(text))));
      expect(await store.runArtifacts(run_id, "session")).toBeNull();
      await store.setRunArtifacts(run_id, "session", "one", [b, a, b]);
      expect(await store.runArtifacts(run_id, "session")).toEqual({ meta: "one", ids: [b, a, b] });
      await store.setRunArtifacts(run_id, "session", "two", [a]);
      await store.setRunArtifacts(run_id, "empty", "{}", []);
      expect(await store.runArtifacts(run_id, "session")).toEqual({ meta: "two", ids: [a] });
      expect(await store.runArtifacts(run_id, "empty")).toEqual({ meta: "{}", ids: [] });
    });

    it("go a while after the last list dropped them, and stay while another run names them", async () => {
      const one = await store.createRun(aNewRun());
      const two = await store.createRun(aNewRun());
      const [shared = "", own = ""] = await Promise.all(["shared", "own"].map((text) => store.putArtifact(Buffer.from(text))));
      await store.setRunArtifacts(one.run_id, "session", "", [shared, own]);
      await store.setRunArtifacts(two.run_id, "session", "", [shared]);
      await store.setRunArtifacts(one.run_id, "session", "", []);
      expect(await store.artifact(own)).not.toBeNull();
      await rawSql(place, "update artifacts set unused_since = '2020-01-01T00:00:00.000Z' where unused_since is not null");
      await store.setRunArtifacts(one.run_id, "session", "", []);
      expect(await store.artifact(own)).toBeNull();
      expect(await store.artifact(shared)).not.toBeNull();
    });

    it("are refused when their bytes are damaged", async () => {
      const id = await store.putArtifact(Buffer.from("to be damaged"));
      await rawSql(place, `update artifacts set body = ${backend === "sqlite" ? "x'0011'" : "'\\x0011'"} where id = '${id}'`);
      await expect(store.artifact(id)).rejects.toMatchObject({ code: "store_unavailable" });
    });
  });
}
