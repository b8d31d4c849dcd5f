import { type Exact, redactedCopy } from "../redact/in-place.ts";

/**
 * Handles that a later process finds things by: ids, paths, fingerprints. A path is exact even if it looks like a
 * credential, since the work is restored by it. What is not named here is redacted, new members too.
 */
const EXACT: Exact = {
  members: new Set([
    "run_id",
    "owner",
    "request_id",
    "args_hash",
    "step",
    "needs",
    "repo_path",
    "repo_common_dir",
    "repo_remote",
    "workspace_path",
    "tree_hold",
    "config_path",
    "copy_ignored",
    "base_run",
    "engine_session",
    "progress_key",
  ]),
  commands: new Set(["verify", "setup", "command", "allow"]),
  orNull: new Set(["branch"]),
};

/** Everything that a process wants to write, with every credential in it replaced: the one place that all text passes. */
export function redactedWrite<T>(write: T): T {
  return redactedCopy(write, EXACT);
}
