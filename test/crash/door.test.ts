import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Answer, type Door, newProduct, type Product } from "../support/product.ts";
import { manifest } from "../support/repos.ts";
import { deathsOf, TIMEOUT_MS } from "./support/deaths.ts";
import { Victims } from "./support/victims.ts";

/** A server that is killed at an effect of a writing call: the same call again has its effect once, and loses nothing. */

const blocked = [
  { edit: { path: "made", content: "by the run" } },
  { report: { completed: [], intended: [], verdict: "blocked" } },
];

async function ready(
  name: string,
  turn: readonly unknown[] = blocked,
): Promise<{ product: Product; door: Door; victims: Victims; repo: string; agent: string }> {
  const product = await newProduct();
  const agent = product.agent(name, [{ when: "Iteration", do: turn }]);
  return { product, agent, repo: product.box.repo(name), door: await product.connect(), victims: new Victims(product) };
}

const lanes = {
  start: await ready("start"),
  grant: await ready("grant"),
  resume: await ready("resume"),
  reset: await ready("reset"),
  instruct: await ready("instruct"),
  stop: await ready("stop", [{ hang: true }]),
};

const revisionOf = (answer: Answer): number => answer.run?.revision ?? -1;

describe.concurrent("a killed server", () => {
  test(
    "C54: a start that was sent again after the death is one run",
    async () => {
      const { door, victims, repo, agent } = lanes.start;
      const args = (n: number) => ({ repo, agent, objective: `start ${n}`, request_id: `s-${n}`, max_iterations: 1 });
      const points = await victims.points("coding_loop_start", args(0));
      expect(points).toContain("before createRun#1");
      const deaths = deathsOf(points, 2);
      for (const [index, point] of deaths.entries()) {
        await victims.dies(point, "coding_loop_start", args(index + 1));
        const { run } = await door.call("coding_loop_start", args(index + 1));
        expect(await door.ended(run?.run_id ?? "")).toMatchObject({ stop_reason: "failed" });
      }
      expect(await door.call("run_list")).toMatchObject({ total: deaths.length + 1 });
    },
    TIMEOUT_MS,
  );

  test(
    "C38: a grant that was sent again after the death is counted once",
    async () => {
      const { door, victims, repo, agent } = lanes.grant;
      const { run_id } = await door.start({ repo, agent, objective: "grant", max_iterations: 5 });
      await door.ended(run_id);
      const args = (n: number) => ({ run_id, iterations: 1, request_id: `g-${n}` });
      const points = await victims.points("run_grant_iterations", args(0));
      for (const [index, point] of points.entries()) {
        await victims.dies(point, "run_grant_iterations", args(index + 1));
        const { run } = await door.call("run_grant_iterations", args(index + 1));
        expect(run?.max_iterations).toBe(5 + index + 2);
      }
    },
    TIMEOUT_MS,
  );

  test(
    "C38: a resume from the entry that was sent again after the death restores, grants and opens one attempt",
    async () => {
      const { door, victims, repo, agent } = lanes.resume;
      const { run_id, workspace } = await door.start({ repo, agent, objective: "resume", max_iterations: 1 });
      await door.ended(run_id);
      const args = (n: number) => ({ run_id, from: "entry", add_iterations: 1, instructions: `word ${n}`, request_id: `r-${n}` });
      const points = await victims.points("run_resume", args(0));
      expect(points.some((point) => point.includes("applyRestore"))).toBe(true);
      for (const [index, point] of deathsOf(points, 3).entries()) {
        await door.ended(run_id);
        await victims.dies(point, "run_resume", args(index + 1));
        await door.call("run_resume", args(index + 1));
        const run = await door.ended(run_id);
        expect(run).toMatchObject({ stop_reason: "failed", max_iterations: index + 3, iteration: index + 3 });
        expect(run.steps[0]?.attempt).toBe(index + 3);
        expect(existsSync(join(workspace.path, "made"))).toBe(true);
      }
    },
    TIMEOUT_MS,
  );

  test(
    "C55: an instruction that was sent again after the death is stored once",
    async () => {
      const { door, victims, repo, agent } = lanes.instruct;
      const { run_id } = await door.start({ repo, agent, objective: "instruct", max_iterations: 1 });
      await door.ended(run_id);
      const args = (n: number) => ({ run_id, instructions: `word ${n}`, request_id: `i-${n}` });
      const points = await victims.points("run_instruct", args(0));
      for (const [index, point] of points.entries()) {
        await victims.dies(point, "run_instruct", args(index + 1));
        await door.call("run_instruct", args(index + 1));
      }
      const { explanation } = await door.call("run_explain_stop", { run_id });
      expect(explanation?.undelivered_instructions).toEqual([0, ...points.map((_, index) => index + 1)].map((n) => `word ${n}`));
    },
    TIMEOUT_MS,
  );

  test(
    "a stop that was sent again after the death ends the run once, and its engine with it",
    async () => {
      const { door, victims, repo, agent } = lanes.stop;
      const begin = async (n: number): Promise<string> => {
        const { run_id } = await door.start({ repo, agent, objective: `stop ${n}`, max_iterations: 1 });
        while ((await door.call("run_status", { run_id })).run?.state !== "running");
        return run_id;
      };
      const first = await begin(0);
      const points = await victims.points("run_stop", { run_id: first, request_id: "e-0" });
      for (const [index, point] of points.entries()) {
        const args = { run_id: await begin(index + 1), request_id: `e-${index + 1}` };
        await victims.dies(point, "run_stop", args);
        await door.call("run_stop", args);
        expect(await door.ended(args.run_id)).toMatchObject({ state: "stopped", stop_reason: "cancelled" });
        const { explanation } = await door.call("run_explain_stop", { run_id: args.run_id });
        expect(explanation?.spans.map(({ ended_by }) => ended_by)).toEqual(["cancelled"]);
      }
    },
    TIMEOUT_MS,
  );

  test(
    "a reset that a death broke off can be finished, and every byte of the work can be brought back",
    async () => {
      const { door, victims, repo, agent } = lanes.reset;
      const { run_id, workspace } = await door.start({ repo, agent, objective: "reset", max_iterations: 1 });
      await door.ended(run_id);
      const work = manifest(workspace.path);
      const preview = async (to?: string) => {
        const { confirm_token } = await door.call("run_reset", { run_id, ...(to === undefined ? {} : { to }) });
        return { run_id, confirm_token: confirm_token ?? "" };
      };
      /** Confirms until it is done: whatever moved gives a fresh preview. */
      const finish = async (first: Readonly<Record<string, unknown>>): Promise<Answer> => {
        let answer = await door.call("run_reset", first);
        for (let tries = 0; answer.reset === undefined && tries < 3; tries += 1)
          answer = await door.call("run_reset", { run_id, confirm_token: answer.confirm_token ?? "" });
        return answer;
      };
      const points = await victims.points("run_reset", { ...(await preview()), request_id: "x-0" });
      expect(points.length).toBeGreaterThan(6);
      const bringBack = async (): Promise<void> => {
        const { explanation } = await door.call("run_explain_stop", { run_id });
        const safeties = (explanation?.checkpoints ?? []).filter((one) => one.kind === "reset" || one.kind === "stop");
        for (const { id } of safeties) {
          if (existsSync(join(workspace.path, "made"))) break;
          await finish(await preview(id));
        }
        expect(manifest(workspace.path)).toEqual(work);
      };
      for (const [index, point] of deathsOf(points, 3).entries()) {
        await bringBack();
        const args = { ...(await preview()), request_id: `x-${index + 1}` };
        await victims.dies(point, "run_reset", args);
        const answer = await finish(args);
        expect([point, answer.reset?.safety_checkpoint]).toEqual([point, expect.stringMatching(/^cp_/u)]);
        expect(existsSync(join(workspace.path, "made"))).toBe(false);
        expect(revisionOf(answer)).toBeGreaterThan(0);
      }
      await bringBack();
    },
    TIMEOUT_MS,
  );
});
