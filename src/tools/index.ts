import { codingLoopStart } from "./coding-loop-start.ts";
import type { Tool } from "./define-tool.ts";
import { runArchive } from "./run-archive.ts";
import { runDiff } from "./run-diff.ts";
import { runExplainStop } from "./run-explain-stop.ts";
import { runGrantIterations } from "./run-grant-iterations.ts";
import { runInstruct } from "./run-instruct.ts";
import { runList } from "./run-list.ts";
import { runRedo } from "./run-redo.ts";
import { runReset } from "./run-reset.ts";
import { runResume } from "./run-resume.ts";
import { runStatus } from "./run-status.ts";
import { runStop } from "./run-stop.ts";
import { runTranscript } from "./run-transcript.ts";
import { runWait } from "./run-wait.ts";

/** Every tool, in the order in which clients list them. MCP, CLI and REST are doors to this array. */
export const TOOLS: readonly Tool[] = [
  codingLoopStart,
  runStatus,
  runList,
  runWait,
  runStop,
  runInstruct,
  runExplainStop,
  runTranscript,
  runDiff,
  runResume,
  runGrantIterations,
  runReset,
  runRedo,
  runArchive,
];
