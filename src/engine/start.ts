import { sleep } from "../run/clock.ts";
import { newToken } from "../run/id.ts";
import { REPORT_SOCKET_VARIABLE, REPORT_TOKEN_VARIABLE } from "../run/report.ts";
import { answerPermission } from "./answer-permission.ts";
import { connect } from "./connection.ts";
import type { ClassifiedStop, EngineLaunch, EngineStart, WantedSession } from "./engine.ts";
import { type Environment, markerVariables, runEnvironment } from "./environment.ts";
import { ignoredSignals } from "./ignored-signals.ts";
import { createJournal } from "./journal.ts";
import { killTree, markedTarget } from "./kill-tree.ts";
import { type InjectedServer, openSession, StartFailure } from "./open-session.ts";
import { type SpokenProcess, spawnSpoken } from "./process.ts";
import type { SessionPlace } from "./profiles/profile.ts";
import { profileOf } from "./profiles/table.ts";
import { receive } from "./receive.ts";
import { openReportListener, type ReportListener } from "./report-listener.ts";
import { engineOf } from "./session.ts";
import { newSessionState, type SessionState } from "./session-state.ts";
import { classify, exitEvidence, outlivesRestart, ownStop } from "./turn-end.ts";

/** How this program is run again as a child. */
export interface SelfCommand {
  readonly command: string;
  readonly args: readonly string[];
}

const START_LIMIT_S = 60;

/** Starts one engine and opens its session. Whatever goes wrong, nothing of it stays alive. */
export async function startEngine(
  options: { readonly env: Environment; readonly self: SelfCommand },
  launch: EngineLaunch,
  { resume, look_for = [] }: WantedSession,
): Promise<EngineStart> {
  const profile = profileOf(launch.agent.profile);
  const journal = createJournal(launch.listener);
  const state = newSessionState(launch, profile, journal, look_for);
  const token = newToken();
  const reports = await openReportListener(token, (report) => {
    journal.report(report);
    launch.listener.answered();
  });

  const additions = profile.environment({ permissions: launch.permissions, base: { ...options.env, ...launch.agent.env } });
  const env = runEnvironment(options.env, launch, { ...launch.agent.env, ...additions });
  if (resume !== null) await profile.beforeLoad?.(placeOf(launch, env, resume));

  const ignored = ignoredSignals(launch.run_id);
  const child = spawnSpoken({ command: launch.agent.command, args: launch.agent.args, cwd: launch.cwd, env, ignored });
  const connection = connect(child, {
    notification: (method, params) => receive(state, method, params),
    permission: (params) => answerPermission(state, params),
  });
  // A child of the engine may hold its stdout open after its death; the connection must not wait for that.
  child.exited.then(() => sleep(200)).then(connection.close);

  const opening = openSession(connection, state, { resume, server: reportServer(options.self, launch, reports, token) });
  const limit = new AbortController();
  const opened = await Promise.race([opening, tooLate(limit.signal)]).catch((error: unknown) => failureOf(state, child, error));
  limit.abort();
  if ("reason" in opened) {
    await killTree(markedTarget(child.pid, launch.run_id, launch.nonce));
    connection.close();
    await reports.close();
    opening.catch(() => {});
    return { ok: false, stop: opened };
  }
  state.phase = "open";
  return { ok: true, engine: engineOf({ state, opened, child, connection, reports }) };
}

function placeOf({ agent, cwd }: EngineLaunch, env: Environment, sessionId: string): SessionPlace {
  return { env, command: agent.command, args: agent.args, cwd, session_id: sessionId };
}

/** Our own program as MCP server; its environment is given in full, since some engines hand nothing of theirs on. */
function reportServer(self: SelfCommand, launch: EngineLaunch, reports: ReportListener, token: string): InjectedServer {
  const variables = { ...markerVariables(launch), [REPORT_SOCKET_VARIABLE]: reports.socket, [REPORT_TOKEN_VARIABLE]: token };
  return {
    name: "loopkeeper",
    command: self.command,
    args: [...self.args, "report"],
    env: Object.entries(variables).map(([name, value]) => ({ name, value })),
  };
}

async function tooLate(over: AbortSignal): Promise<never> {
  await sleep(START_LIMIT_S * 1000, over);
  const evidence = `the engine did not open its session within ${START_LIMIT_S} s`;
  throw new StartFailure(ownStop("relay_timeout", "loop", evidence));
}

async function failureOf(state: SessionState, child: SpokenProcess, error: unknown): Promise<ClassifiedStop> {
  if (!(error instanceof StartFailure)) throw error;
  if (error.stop !== null) return error.stop;
  await Promise.race([child.exited, sleep(2000)]);
  const facts = { exit: child.exit(), stderr_tail: child.stderrTail() };
  const code = facts.exit?.code ?? null;
  if (code === 126 || code === 127) {
    return ownStop("failed", "exit", `${state.launch.agent.command} cannot be started: ${exitEvidence(facts)}`);
  }
  const signal = facts.exit?.signal ?? null;
  const known = classify(state, { exit: { code, signal, stderr_tail: facts.stderr_tail } });
  if (known !== null && outlivesRestart(known)) return known;
  // A program that ends by itself before it speaks has something wrong with its settings; one that was killed has not.
  const reason = signal === null && code !== null && code < 128 ? "failed" : "interrupted";
  return ownStop(reason, "exit", `at its start ${exitEvidence(facts)}`);
}
