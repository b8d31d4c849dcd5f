import { expect } from "vitest";
import type { TestClient } from "./clients.ts";

/** Waits for a run that does not end, and cancels the wait once its progress was seen: the call ends without an answer. */
export async function cancelledWait(client: TestClient, runId: string): Promise<void> {
  const cancel = new AbortController();
  const seen: number[] = [];
  const waiting = client.callTool(
    "run_wait",
    { run_id: runId, timeout_s: 280 },
    { signal: cancel.signal, onProgress: ({ progress }) => seen.push(progress) },
  );
  await expect.poll(() => seen.length, { timeout: 60_000 }).toBeGreaterThan(0);
  cancel.abort();
  await expect(waiting).rejects.toThrow();
}
