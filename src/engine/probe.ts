import { z } from "zod";
import { sleep } from "../run/clock.ts";
import { newToken } from "../run/id.ts";
import { jsonOrNull } from "../run/json.ts";
import type { AgentSpec } from "./engine.ts";
import { type Environment, runEnvironment } from "./environment.ts";
import { killTree } from "./kill-tree.ts";
import { type ProcessExit, spawnSpoken } from "./process.ts";

const LIMIT_MS = 30_000;
const PROBE = "probe";

const answerSchema = z.looseObject({ id: z.literal(0), result: z.looseObject({ protocolVersion: z.number() }).optional() });

/** Whether an agent, once started, answers the first message of ACP. No session is opened and no model is asked; it is ended again. */
export async function probeAgent(
  base: Environment,
  agent: AgentSpec,
  cwd: string,
): Promise<{ readonly answers: boolean; readonly why: string }> {
  const nonce = newToken();
  const env = runEnvironment(base, { run_id: PROBE, nonce }, { ...agent.env, LOOPKEEPER_COMMAND: nonce });
  const child = spawnSpoken({ command: agent.command, args: agent.args, cwd, env });
  try {
    child.stdin.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } })}\n`,
    );
    const late = new AbortController();
    const outcome = await Promise.race([
      // A program that ends closes its output first; how it ended says more.
      firstAnswer(child.stdout).then((said) =>
        said === CLOSED ? Promise.race([child.exited.then(howItEnded), sleep(500).then(() => said)]) : said,
      ),
      child.exited.then(howItEnded),
      sleep(LIMIT_MS, late.signal).then(() => `no answer within ${LIMIT_MS / 1000} s`),
    ]);
    late.abort();
    return outcome === null ? { answers: true, why: "" } : { answers: false, why: outcome };
  } finally {
    await killTree({ root: child.pid, variables: [`LOOPKEEPER_COMMAND=${nonce}`], ignored: [] });
  }
}

const CLOSED = "it closed its output";

function howItEnded(exit: ProcessExit): string {
  return `it ended with ${exit.code === null ? (exit.signal ?? "no code") : `code ${exit.code}`}`;
}

/** Null when it answered as an agent does; else why not. */
async function firstAnswer(output: NodeJS.ReadableStream): Promise<string | null> {
  let text = "";
  for await (const chunk of output) {
    text += String(chunk);
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const answer = answerSchema.safeParse(jsonOrNull(line));
      if (answer.success) return answer.data.result === undefined ? "it answered with an error" : null;
    }
    if (text.length > 1_000_000) return "it speaks no ACP";
  }
  return CLOSED;
}
