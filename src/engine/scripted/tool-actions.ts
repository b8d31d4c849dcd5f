import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { messageOf } from "../../run/errors.ts";
import { spawnLoose, spawnShell, tailOf } from "../process.ts";
import type { Action } from "./script.ts";
import { permitted, type Turn, update } from "./turn.ts";

type Edit = Extract<Action, { edit: unknown }>["edit"];
type Run = Extract<Action, { run: unknown }>["run"];

/** Changes a file as a tool call of kind `edit`. */
export async function playEdit(turn: Turn, edit: Edit): Promise<void> {
  const path = isAbsolute(edit.path) ? edit.path : join(turn.session.cwd, edit.path);
  const id = turn.nextCallId();
  const rawInput = { file_path: path };
  await update(turn, {
    sessionUpdate: "tool_call",
    toolCallId: id,
    title: `Edit ${edit.path}`,
    kind: "edit",
    status: "pending",
    rawInput,
    locations: [{ path }],
  });
  const ask = turn.session.mode === "ask";
  if (ask && !(await permitted(turn, { id, title: `Edit ${edit.path}`, kind: "edit", rawInput }))) {
    await finish(turn, id, "failed", "The user rejected this edit.");
    return;
  }
  try {
    await applyEdit(path, edit);
    await finish(turn, id, "completed", `Edited ${edit.path}`);
  } catch (error) {
    await finish(turn, id, "failed", messageOf(error));
  }
}

/** Runs a shell command as a tool call of kind `execute`; a cancel of the turn kills its process group. */
export async function playRun(turn: Turn, run: Run): Promise<void> {
  const id = turn.nextCallId();
  const rawInput = { command: run.command };
  await update(turn, {
    sessionUpdate: "tool_call",
    toolCallId: id,
    title: run.title,
    kind: "execute",
    status: "pending",
    rawInput,
  });
  const ask = run.ask || turn.session.mode !== "all";
  if (ask && !(await permitted(turn, { id, title: run.title, kind: "execute", rawInput }))) {
    await finish(turn, id, "failed", "The user rejected this command.");
    return;
  }
  await update(turn, { sessionUpdate: "tool_call_update", toolCallId: id, status: "in_progress" });
  const output = tailOf(1_000_000);
  const child = spawnShell({ command: run.command, cwd: turn.session.cwd, env: turn.env, onOutput: output.add });
  turn.signal.addEventListener("abort", child.kill, { once: true });
  const exit = await child.exited;
  turn.signal.removeEventListener("abort", child.kill);
  await update(turn, {
    sessionUpdate: "tool_call_update",
    toolCallId: id,
    status: exit.code === 0 ? "completed" : "failed",
    content: [{ type: "content", content: { type: "text", text: output.text() } }],
    rawOutput: { exit_code: exit.code, signal: exit.signal },
  });
}

export function commitCommand(message: string): Run {
  const command = `git add -A && git commit -q -m ${quoted(message)}`;
  return { command, ask: false, title: command };
}

/** Leaves a process behind, in a session of its own or (not detached) as a child of a shell of this agent. */
export function playSpawn(turn: Turn, spawned: { readonly command: string; readonly detached: boolean }): void {
  const place = { cwd: turn.session.cwd, env: turn.env };
  const command = spawned.detached ? `setsid ${wrapped(spawned.command)} &` : spawned.command;
  spawnLoose({ ...place, command });
}

async function finish(turn: Turn, id: string, status: "completed" | "failed", text: string): Promise<void> {
  const content = [{ type: "content" as const, content: { type: "text" as const, text } }];
  await update(turn, { sessionUpdate: "tool_call_update", toolCallId: id, status, content });
}

async function applyEdit(path: string, edit: Edit): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  if ("content" in edit) return writeFile(path, edit.content);
  if ("append" in edit) return appendFile(path, edit.append);
  const [from, to] = edit.replace;
  const text = await readFile(path, "utf8");
  if (!text.includes(from)) throw new Error(`${edit.path} does not hold the text to replace`);
  return writeFile(
    path,
    text.replace(from, () => to),
  );
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const wrapped = (command: string): string => `sh -c ${quoted(command)}`;
