import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { newDatabase } from "../support/postgres.ts";
import { type AgentName, hermeticLaunch } from "./launch.ts";
import { saidSoFar } from "./model-server/conversation.ts";
import { startModelServer } from "./model-server/server.ts";
import { makeProductHome, type ProductHome } from "./support/product.ts";
import { git, makeRepository } from "./support/repository.ts";

/** One machine: the agent's home, the product's home and a clone, all in one folder. */
interface Machine {
  readonly home: ProductHome;
  readonly clone: string;
}

/** A run that stops on one machine and goes on on another, with one database and one remote; nothing else of the first is left. */
export function agentElsewhere(name: AgentName): void {
  test(`a run of ${name} goes on on another machine with its conversation, its commit and its uncommitted files`, async () => {
    const folder = await mkdtemp(join(tmpdir(), `lane-elsewhere-${name}-`));
    const model = await startModelServer({
      script: [
        {
          say: "WORDS-OF-A ",
          call: { tool: "shell", command: "echo committed > c.txt && git add c.txt && git commit -qm Unpushed" },
        },
        { call: { tool: "write", path: "a.txt", content: "hello\n" } },
        { say: "Enough for now." },
      ],
    });
    const shared = {
      LOOPKEEPER_DATABASE_URL: await newDatabase(inject("postgresHome")),
      LOOPKEEPER_KEY: randomBytes(32).toString("base64"),
    };
    const remote = join(folder, "remote.git");
    git(folder, "clone", "-q", "--bare", makeRepository(join(folder, "seed")), remote);
    const machine = async (at: string): Promise<Machine> => {
      const place = join(folder, at);
      await mkdir(place);
      const entry = await hermeticLaunch(name, { home: join(place, "home"), port: model.port });
      const clone = join(place, "clone");
      git(folder, "clone", "-q", remote, clone);
      git(clone, "config", "user.email", "owner@example.org");
      git(clone, "config", "user.name", "Owner");
      return { home: await makeProductHome(place, { lane: entry }, shared), clone };
    };
    const [a, b] = [await machine("a"), await machine("b")];
    onTestFinished(async () => {
      await a.home.killEverything();
      await b.home.killEverything();
      await model.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const before = await a.home.connect();
    const { run_id } = await before.start({ repo: a.clone, objective: "OBJECTIVE-OF-A", max_iterations: 1, agent: "lane" });
    expect(await before.ended(run_id)).toMatchObject({ stop_reason: "max_iterations" });
    await a.home.killEverything();
    await rm(a.home.folder, { recursive: true });

    const after = await b.home.connect();
    expect((await after.explain(run_id)).cause).toMatchObject({ stop_reason: "max_iterations" });
    model.clearScript();
    model.enqueue(
      { call: { tool: "report", report: { completed: ["a.txt"], intended: [], verdict: "done" } } },
      { say: "It is done." },
    );
    const first = model.mainRequests().length;
    expect(await after.resume({ run_id, add_iterations: 1, repo: b.clone })).toBe("native");
    const { state, workspace } = await after.ended(run_id);
    expect(state).toBe("done");
    const received = model.mainRequests()[first];
    const said = received === undefined ? "" : saidSoFar(received.conversation);
    expect(said).toContain("OBJECTIVE-OF-A");
    expect(said).toContain("WORDS-OF-A");
    expect(await readFile(join(workspace.path, "a.txt"), "utf8")).toBe("hello\n");
    expect(git(workspace.path, "log", "-1", "--format=%s")).toBe("Unpushed\n");
    await after.close();
  });
}
