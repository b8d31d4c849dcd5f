import type { PermissionLevel, PlanEntry } from "../../run/run.ts";
import type { Environment } from "../environment.ts";
import type { ToolUpdate } from "../updates.ts";

/** What one session of an engine is worth on another machine: its own files, opaque to everything else. */
export interface SessionPlace {
  /** The environment that the engine is started with: it says where the engine keeps its files. */
  readonly env: Environment;
  readonly command: string;
  readonly args: readonly string[];
  readonly session_id: string;
  readonly cwd: string;
}

/** A file of a session: its name within the engine's own folder, and where it is. */
export interface SessionFile {
  readonly name: string;
  readonly path: string;
}

export interface SessionFiles {
  readonly files: readonly SessionFile[];
  /** Removes what was made only to be read. */
  done?(): Promise<void>;
}

/** Where the files of a copy belong on this machine. */
export interface SessionTarget {
  /** The engine's own folder: nothing is written outside of it. */
  readonly root: string;
  /** Names within the folder, in the order of the copy's files. */
  readonly names: readonly string[];
  /** Small files that have to be there too. */
  readonly beside?: readonly { readonly name: string; readonly text: string }[];
}

/** The facts in which one engine differs from the others. */
export interface EngineProfile {
  readonly name: string;
  /** Environment that it is started with, beside the user's own. */
  environment(launch: { readonly permissions: PermissionLevel; readonly base: Environment }): Environment;
  /**
   * Modes that hold a permission level, the one to set first. Null: the engine has no modes for it and asks by its nature
   * or by its environment. At `all` every mode will do, since whatever is asked for is allowed.
   */
  readonly modes: Readonly<Record<PermissionLevel, readonly string[] | null>>;
  readonly quirks: {
    /** `session/cancel` loses the turn while the model is being waited for: the process is killed instead. */
    readonly cancelLosesTurn?: true;
    /** Text that it sends as a message of its own after a change of mode. */
    readonly noise?: RegExp;
    /** Of a command it tells only the title, which is the command itself. */
    readonly commandIsTitle?: true;
    /** Titles of tools that only keep the engine's own notes; they are never asked about. */
    readonly bookkeeping?: RegExp;
  };
  /** The to-do list that a tool call carries, for engines that send no `plan` updates. */
  planFrom?(update: ToolUpdate): readonly PlanEntry[] | null;
  /** Waits or copies before a session is loaded, where the engine would lose it otherwise. */
  beforeLoad?(place: SessionPlace): Promise<void>;
  /** The session's own files; none when it is not here. */
  sessionFiles?(place: SessionPlace): Promise<SessionFiles>;
  /** Where a copy's files go; `cwd` is the directory that the session worked in when it was copied. */
  sessionTarget?(place: SessionPlace, copy: { readonly cwd: string; readonly names: readonly string[] }): Promise<SessionTarget>;
  /** For an engine that keeps its sessions in a database of its own: takes in the one file of a copy. */
  importSession?(place: SessionPlace, file: string): Promise<void>;
  /** Whether a file that looks like the session's by its name is the session's, where names are not enough. */
  isOf?(path: string, sessionId: string): Promise<boolean>;
  /** For an engine that keeps its sessions in a database of its own: takes this one out. Throws when it could not. */
  deleteSession?(place: SessionPlace): Promise<void>;
}
