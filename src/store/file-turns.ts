/**
 * Turns on one store file among all handles of this process. SQLite waits for a lock by blocking the thread; when the lock is held by
 * another handle of the same process, its transaction could never go on meanwhile, and the wait would end as `SQLITE_BUSY`.
 */
const queues = new Map<string, (() => void)[]>();

/** Resolves when it is the caller's turn; in order of asking. The answer gives the turn to the next. */
export async function takeTurn(file: string): Promise<() => void> {
  const queue = queues.get(file);
  if (queue === undefined) queues.set(file, []);
  else await new Promise<void>((resolve) => queue.push(resolve));
  return () => passOn(file);
}

function passOn(file: string): void {
  const next = queues.get(file)?.shift();
  if (next === undefined) queues.delete(file);
  else next();
}
