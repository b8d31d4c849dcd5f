import { pino } from "pino";
import { redact } from "./redact/redact.ts";
import { redactValue } from "./redact/value.ts";

export type Log = (level: "info" | "warn" | "error", message: string, data?: object) => void;

/** A text that is longer tells nothing more. */
const LONGEST_TEXT = 16_384;

/** Logs to stderr, or to a file of a process that has none: stdout carries protocol only. Credentials are redacted here, whatever a caller logs. */
export function createLog(options: { readonly level: string; readonly file: string | null; readonly name: string }): Log {
  const destination = pino.destination({ dest: options.file ?? 2, sync: true, mkdir: true });
  const logger = pino({ name: options.name, level: options.level, base: { name: options.name } }, destination);
  return (level, message, data) => logger[level](redactedData(data), redact(message));
}

function redactedData(data: object | undefined): object {
  const redacted = redactValue(data ?? {}, LONGEST_TEXT);
  return typeof redacted === "object" && redacted !== null ? redacted : {};
}
