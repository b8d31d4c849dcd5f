import { sleep } from "../../run/clock.ts";
import { messageOf } from "../../run/errors.ts";
import { failureError, hiddenFailure } from "./failures.ts";
import type { Action, Failure } from "./script.ts";
import { append, earlierPrompts } from "./session-file.ts";
import { commitCommand, playEdit, playRun, playSpawn } from "./tool-actions.ts";
import { type Ending, permitted, say, type Turn, update } from "./turn.ts";

/** Plays actions in order; the ending is that of the first one which ends the turn. */
export async function playAll(turn: Turn, actions: readonly Action[]): Promise<Ending> {
  for (const action of actions) {
    const ending = await play(turn, action);
    if (turn.signal.aborted) return { stopReason: "cancelled" };
    if (ending !== null) return ending;
  }
  return { stopReason: "end_turn" };
}

async function play(turn: Turn, action: Action): Promise<Ending | null> {
  if ("say" in action) await speak(turn, action.say);
  else if ("think" in action) await think(turn, action.think);
  else if ("plan" in action) await plan(turn, action.plan);
  else if ("edit" in action) await playEdit(turn, action.edit);
  else if ("run" in action) await playRun(turn, action.run);
  else if ("commit" in action) await playRun(turn, commitCommand(action.commit));
  else if ("spawn" in action) playSpawn(turn, action.spawn);
  else if ("report" in action) await report(turn, action.report);
  else if ("ask_permission" in action) await askPermission(turn, action.ask_permission);
  else if ("usage" in action) await tellUsage(turn, action.usage);
  else if ("recall" in action) await recall(turn);
  else if ("environment" in action)
    await speak(turn, action.environment.map((name) => `${name}=${turn.env[name] ?? ""}`).join("\n"));
  else if ("sleep" in action) await sleep(action.sleep, turn.signal);
  else if ("hang" in action) await hang(turn, action.hang);
  else if ("fail" in action) return fail(action.fail);
  else if ("end" in action) return { stopReason: action.end };
  else if ("refuse" in action) return { stopReason: "refusal" };
  else if ("die" in action) await die(action.die);
  else if ("repeat" in action) return repeat(turn, action.repeat);
  else await turn.client.notify("session/update", { sessionId: turn.session.stored.id, update: action.update });
  return null;
}

async function speak(turn: Turn, text: string): Promise<void> {
  await append(turn.session.stored, { type: "said", text });
  await say(turn, text);
}

async function think(turn: Turn, text: string): Promise<void> {
  await update(turn, { sessionUpdate: "agent_thought_chunk", content: { type: "text", text } });
}

async function plan(turn: Turn, entries: Extract<Action, { plan: unknown }>["plan"]): Promise<void> {
  await update(turn, { sessionUpdate: "plan", entries: entries.map((entry) => ({ ...entry, priority: "medium" })) });
}

/** Really calls the injected server; without one it says so, as an engine whose model has no such tool would. */
async function report(turn: Turn, input: Extract<Action, { report: unknown }>["report"]): Promise<void> {
  const server = await turn.session.mcp;
  if (server === null) {
    await speak(turn, "I have no tool report_progress.");
    return;
  }
  const toolCallId = turn.nextCallId();
  const title = "mcp__loopkeeper__report_progress";
  await update(turn, { sessionUpdate: "tool_call", toolCallId, title, kind: "other", status: "in_progress", rawInput: input });
  const answer = await server.call("report_progress", input).then(
    (text) => ({ status: "completed" as const, text }),
    (error: unknown) => ({ status: "failed" as const, text: messageOf(error) }),
  );
  const content = [{ type: "content" as const, content: { type: "text" as const, text: answer.text } }];
  await update(turn, { sessionUpdate: "tool_call_update", toolCallId, status: answer.status, content });
}

async function askPermission(turn: Turn, command: string): Promise<void> {
  const allowed = await permitted(turn, { id: turn.nextCallId(), title: command, kind: "execute", rawInput: { command } });
  await speak(turn, allowed ? `allowed: ${command}` : `rejected: ${command}`);
}

async function tellUsage(turn: Turn, usage: { input: number; output: number; cost?: number | undefined }): Promise<void> {
  turn.usage.input += usage.input;
  turn.usage.output += usage.output;
  turn.session.cost += usage.cost ?? 0;
  const used = turn.usage.input + turn.usage.output;
  const cost = usage.cost === undefined ? {} : { cost: { amount: turn.session.cost, currency: "USD" } };
  await update(turn, { sessionUpdate: "usage_update", used, size: 200_000, ...cost });
}

async function recall(turn: Turn): Promise<void> {
  // The last one is the prompt of this very turn.
  const earlier = earlierPrompts(turn.session.stored).slice(0, -1);
  await say(turn, `I remember ${earlier.length} earlier prompts:\n${earlier.join("\n")}`);
}

async function hang(turn: Turn, how: true | "deaf"): Promise<void> {
  // A timer keeps the process alive: an unsettled promise alone would let it exit.
  const day = 86_400_000;
  await (how === "deaf" ? sleep(day) : sleep(day, turn.signal));
}

function fail(failure: Failure): Ending {
  const meta = hiddenFailure(failure);
  if (meta === null) throw failureError(failure);
  return { stopReason: "end_turn", _meta: meta };
}

async function die(how: number | "SIGKILL" | "SIGTERM" | "SIGSEGV"): Promise<void> {
  if (typeof how === "number") process.exit(how);
  process.kill(process.pid, how);
  await sleep(5000);
}

async function repeat(turn: Turn, what: { readonly times: number; readonly do: readonly Action[] }): Promise<Ending | null> {
  for (let round = 0; round < what.times; round += 1) {
    for (const action of what.do) {
      const ending = await play(turn, action);
      if (turn.signal.aborted) return { stopReason: "cancelled" };
      if (ending !== null) return ending;
    }
  }
  return null;
}
