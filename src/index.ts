/** Public API of the package: the tools and their vocabulary, for programs that embed Loopkeeper. */
export { type Config, readConfig } from "./config.ts";
export { ERROR_CODES, type ErrorCode, LoopkeeperError } from "./run/errors.ts";
export { RESUMABLE_STOP_REASONS, STOP_REASON_TABLE, STOP_REASONS, type StopReason } from "./run/stop-reason.ts";
export type { Tool } from "./tools/define-tool.ts";
export { TOOLS } from "./tools/index.ts";
export { VERSION } from "./version.ts";
