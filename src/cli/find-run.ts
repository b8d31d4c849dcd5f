import { z } from "zod";
import { LoopkeeperError } from "../run/errors.ts";
import type { Caller } from "../tools/context.ts";
import type { Tool } from "../tools/define-tool.ts";
import type { CallTool } from "../tools/runtime.ts";

const FULL_ID = /^run_[0-9a-z]{20}$/;

const pageSchema = z.looseObject({
  runs: z.array(z.looseObject({ run_id: z.string() })),
  next_cursor: z.string().nullable(),
});

/**
 * The id of the one run whose id begins with `prefix`, with or without `run_`. A full id is not looked up.
 * `run_not_found` when none does, `bad_input` with the candidates when several do.
 */
export async function findRunId(prefix: string, list: Tool | undefined, call: CallTool, caller: Caller): Promise<string> {
  if (FULL_ID.test(prefix) || list === undefined) return prefix;
  const wanted = prefix.startsWith("run_") ? prefix : `run_${prefix}`;
  const found: string[] = [];
  for (const archived of [false, true]) {
    const ids = await allRunIds(list, { archived }, call, caller);
    found.push(...ids.filter((id) => id.startsWith(wanted) && !found.includes(id)));
  }
  const [only, ...more] = found;
  if (only === undefined) {
    throw new LoopkeeperError("run_not_found", `no run's id begins with "${prefix}". loopkeeper list shows the runs there are.`);
  }
  if (more.length === 0) return only;
  throw new LoopkeeperError(
    "bad_input",
    `"${prefix}" begins the ids of ${found.length} runs: ${found.slice(0, 5).join(", ")}. Give more of it.`,
  );
}

async function allRunIds(list: Tool, filter: object, call: CallTool, caller: Caller): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const result = await call(list, { ...filter, limit: 50, ...(cursor === null ? {} : { cursor }) }, caller);
    if (!result.ok) throw new LoopkeeperError(result.code, result.text.replace(/^\w+: /, ""));
    const page = pageSchema.parse(result.structured);
    ids.push(...page.runs.map((run) => run.run_id));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return ids;
}
