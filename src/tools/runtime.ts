import { LoopkeeperError } from "../run/errors.ts";
import type { CallResult } from "./call.ts";
import type { Caller, ToolContext } from "./context.ts";
import type { Tool } from "./define-tool.ts";
import type { Feed } from "./feed.ts";
import type { RunResource } from "./resources.ts";

/** What every door calls tools with: it never rejects, each fault is a CallResult with `ok: false`. */
export type CallTool = (tool: Tool, rawArgs: unknown, caller: Caller) => Promise<CallResult>;

/** Reads one resource; unlike a call it rejects, with a LoopkeeperError that says what is wrong. */
export type ReadResource = (
  resource: RunResource,
  variables: Readonly<Record<string, string>>,
  caller: Caller,
) => Promise<string>;

/** Connects and opens what pushing doors read from; rejects with a LoopkeeperError. */
export type OpenFeed = () => Promise<Feed>;

/** What is behind the tools once it is connected: store, checkpoints, agents. */
export interface ToolRuntime {
  contextFor(caller: Caller): ToolContext;
  close(): Promise<void>;
}

/**
 * Connects at the first call and not before, so that a door lists its tools without loading a database. A connection that
 * failed is tried again at the next call: the store may be back by then.
 */
export function lazyCalls(options: {
  readonly connect: () => Promise<ToolRuntime>;
  readonly onDefect: (error: unknown) => void;
}): { readonly call: CallTool; readonly read: ReadResource; readonly feed: OpenFeed; close(): Promise<void> } {
  let connecting: Promise<ToolRuntime> | null = null;

  /** A failed connection is forgotten, so that the next call tries anew; one that stands is kept whatever a call meets. */
  async function connected(): Promise<ToolRuntime> {
    connecting ??= options.connect();
    const attempt = connecting;
    try {
      return await attempt;
    } catch (error) {
      if (connecting === attempt) connecting = null;
      throw error;
    }
  }

  async function call(tool: Tool, rawArgs: unknown, caller: Caller): Promise<CallResult> {
    try {
      const ctx = (await connected()).contextFor(caller);
      const [{ callTool }, { redactedResult }] = await Promise.all([import("./call.ts"), import("./redact-answer.ts")]);
      return redactedResult(await callTool(tool, rawArgs, ctx, options.onDefect), rawArgs);
    } catch (error) {
      return failedToConnect(error, caller, options.onDefect);
    }
  }

  async function read(resource: RunResource, variables: Readonly<Record<string, string>>, caller: Caller): Promise<string> {
    try {
      const text = await resource.read((await connected()).contextFor(caller), variables);
      const { redact } = await import("../redact/redact.ts");
      return redact(text);
    } catch (error) {
      if (error instanceof LoopkeeperError) throw error;
      options.onDefect(error);
      throw new LoopkeeperError("internal", `the resource ${resource.name} could not be read; the log has the details.`);
    }
  }

  async function feed(): Promise<Feed> {
    try {
      const ctx = (await connected()).contextFor(NOBODY);
      return (await import("./feed.ts")).createFeed(ctx, options.onDefect);
    } catch (error) {
      if (error instanceof LoopkeeperError) throw error;
      options.onDefect(error);
      throw new LoopkeeperError("internal", "Loopkeeper could not get ready; the log has the details.");
    }
  }

  async function close(): Promise<void> {
    const open = connecting;
    connecting = null;
    const runtime = await open?.catch(() => null);
    await runtime?.close();
  }

  return { call, read, feed, close };
}

/** A feed is read by no call. */
const NOBODY: Caller = { audience: "agent", signal: new AbortController().signal, progress: () => undefined };

function failedToConnect(error: unknown, { audience }: Caller, onDefect: (error: unknown) => void): CallResult {
  if (error instanceof LoopkeeperError) {
    const { code, said, refusal } = error;
    return { ok: false, code, refusal, text: `${code}: ${said[audience]}` };
  }
  onDefect(error);
  return {
    ok: false,
    code: "internal",
    refusal: null,
    text: "internal: Loopkeeper could not get ready for this call; nothing was changed. The log has the details; try again.",
  };
}
