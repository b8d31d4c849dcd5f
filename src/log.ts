import { pino } from "pino";

export type Log = (level: "info" | "warn" | "error", message: string, data?: object) => void;

/** Logs to stderr, or to a file of a process that has none: stdout carries protocol only. */
export function createLog(options: { readonly level: string; readonly file: string | null; readonly name: string }): Log {
  const destination = pino.destination({ dest: options.file ?? 2, sync: true, mkdir: true });
  const logger = pino({ name: options.name, level: options.level, base: { name: options.name } }, destination);
  return (level, message, data) => logger[level](data ?? {}, message);
}
