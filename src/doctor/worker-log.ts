import { open } from "node:fs/promises";
import { z } from "zod";
import { visible } from "../resume/shown.ts";
import { epochMs } from "../run/clock.ts";
import { jsonOrNull } from "../run/json.ts";

const TAIL_BYTES = 65_536;
const DAY_MS = 24 * 3_600_000;
/** `error` and `fatal` of the log. */
const FAULT = 50;

const lineSchema = z.looseObject({ level: z.number(), time: z.number(), msg: z.string() });

/** Messages of faults that a log file's end holds, of the last day. */
export async function lastFaults(file: string): Promise<readonly string[]> {
  const text = await tailOf(file).catch(() => "");
  return text.split("\n").flatMap((line) => {
    const parsed = lineSchema.safeParse(jsonOrNull(line));
    if (!parsed.success || parsed.data.level < FAULT || epochMs() - parsed.data.time > DAY_MS) return [];
    return [visible(parsed.data.msg).slice(0, 200)];
  });
}

async function tailOf(file: string): Promise<string> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const from = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, from);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await handle.close();
  }
}
