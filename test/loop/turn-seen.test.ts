import { expect, test } from "vitest";
import type { ToolCallSeen } from "../../src/engine/engine.ts";
import { breakOff, newTurn, openCalls } from "../../src/loop/turn-seen.ts";

const call = (id: string, status: ToolCallSeen["status"]): ToolCallSeen => ({
  id,
  title: id,
  kind: "execute",
  command: id,
  paths: [],
  status,
  held: false,
});

test("a call that a broken-off turn tells of late, and closes as failed, is one that was still going on", () => {
  const turn = newTurn();
  const tell = (one: ToolCallSeen) => turn.calls.set(one.id, one);
  tell(call("ended", "completed"));
  tell(call("failed", "failed"));
  tell(call("open", "in_progress"));
  breakOff(turn);
  tell(call("open", "failed"));
  tell(call("told late", "in_progress"));
  tell(call("told late", "failed"));
  expect(openCalls(turn).map(({ id }) => id)).toEqual(["open", "told late"]);
});
