/**
 * What every driver needs: the launch, the ports, and the file that stores the conversation's id.
 * Starts the process; speaks no protocol.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { AskMode } from "core/ledger/agent.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import type { Child, Processes } from "core/ports/processes.ts";
import type { Random } from "core/ports/random.ts";
import type { PermissionDecider } from "units/dial/runtimes/acp_permission.ts";
import type { QuestionAsker } from "units/dial/runtimes/question.ts";
import { parseJsonLine } from "core/text/json_lines.ts";
import type { McpLoad } from "core/runtimes/mcp_load.ts";
import type { McpEntry } from "core/runtimes/mcp_entries.ts";

/** Program of the runtime with its placeholders filled in. */
export interface RuntimeLaunch {
  readonly runtime: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Mode of the conversation, as the program names it. */
  readonly sessionMode?: string | undefined;
  /** Versions of the program that are tested. */
  readonly known?: readonly string[] | undefined;
  /**
   * Field `ask` of the agent's record; when absent, the program's own rules decide what it asks.
   */
  readonly ask?: AskMode | undefined;
}

/** What a driver needs besides the program. */
export interface DriverOptions {
  /** File that stores the id of the default conversation; written with mode 0600. */
  readonly sessionFile: string;
  /** The agent's MCP entries, read again for each start of the program. */
  readonly mcps?: {
    read(): Promise<readonly McpEntry[]>;
    /** Path of the file with the entries, for a program that reads them from one; mode 0600. */
    readonly file: string;
    /**
     * Whether an ACP program receives the entries with its session instead of finding them itself.
     */
    readonly isInSession: boolean;
  };
  /** Called with the load states of the MCPs, if the program reports them. */
  readonly onMcps?: (loads: readonly McpLoad[]) => void;
  readonly decidePermission?: PermissionDecider;
  /** Asks a person; every question is cancelled when absent. */
  readonly askQuestion?: QuestionAsker;
  /** Time limit of the handshake and the start of the conversation together. */
  readonly startMs: number;
  /** Time limit of a cancelled turn; after it the runtime is killed. */
  readonly cancelMs?: number;
}

/** Ports of a driver. */
export interface DriverPorts {
  readonly processes: Processes;
  readonly files: Files;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Default of `DriverOptions.cancelMs`. */
export const CANCEL_MS = 15_000;

/** Why a start ends early: its signal has aborted. */
export const NOT_NEEDED = "it is no longer needed";
/** What is lost when a program ends and its next start begins a new conversation. */
export const NOT_RESUMABLE = "its conversation cannot be resumed";

/** Variables that the service manager sets for the dial unit only. */
const WITHHELD = /^(NOTIFY_SOCKET|LISTEN_(FDS|PID|FDNAMES)|CREDENTIALS_DIRECTORY|INVOCATION_ID)$/;

/** Returns the environment of the dial unit without what concerns only the unit itself. */
export function childEnv(
  env: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !WITHHELD.test(name)));
}

/** Returns the launch in another working folder, which the program then treats as its workspace. */
export function launchIn(launch: RuntimeLaunch, folder: string | undefined): RuntimeLaunch {
  if (folder === undefined) return launch;
  return { ...launch, cwd: folder, env: { ...launch.env, FLEETCTL_WORKSPACE: folder } };
}

/** Starts the program in a separate process group; rejects with a message for people. */
export async function spawnRuntime(launch: RuntimeLaunch, processes: Processes): Promise<Child> {
  try {
    return await processes.spawn({
      command: launch.command,
      args: launch.args,
      env: launch.env,
      cwd: launch.cwd,
      group: true,
    });
  } catch (error) {
    throw new Error(
      `Cannot start runtime "${launch.runtime}": "${launch.command}": ${errorText(error)}`,
    );
  }
}

/** Returns the id of this runtime's last conversation, if one is stored. */
export async function rememberedSession(
  files: Files,
  sessionFile: string,
  runtime: string,
): Promise<string | undefined> {
  const stored = parseJsonLine((await files.readText(sessionFile)) ?? "");
  return stored?.runtime === runtime && typeof stored.session_id === "string"
    ? stored.session_id
    : undefined;
}

/** Stores the id of the conversation. */
export async function rememberSession(
  files: Files,
  sessionFile: string,
  record: { readonly runtime: string; readonly sessionId: string },
): Promise<void> {
  const line = JSON.stringify({ runtime: record.runtime, session_id: record.sessionId });
  await writeOwn(files, sessionFile, `${line}\n`);
}

/** Writes a file of the driver with mode 0600; creates its folder if needed. */
export async function writeOwn(files: Files, path: string, text: string): Promise<void> {
  const folder = path.slice(0, path.lastIndexOf("/"));
  if (await files.stat(folder) === undefined) await files.ensureDir(folder, { mode: 0o700 });
  await files.write(path, text, { mode: 0o600 });
}
