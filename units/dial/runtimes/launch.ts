/**
 * What every driver needs of a program and of its host: the launch, the ports, the file that
 * remembers the conversation. Starts the process; speaks no protocol.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import type { Child, Processes } from "core/ports/processes.ts";
import type { Random } from "core/ports/random.ts";
import type { PermissionDecider } from "units/dial/runtimes/acp_permission.ts";
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
  /** Mode that the conversation is put into, in the program's words. */
  readonly sessionMode?: string | undefined;
}

/** What a driver needs besides the program. */
export interface DriverOptions {
  /** File that remembers the id of the agent's conversation; written 0600. */
  readonly sessionFile: string;
  /** The agent's MCP entries, read anew for each start of the program. */
  readonly mcps?: {
    read(): Promise<readonly McpEntry[]>;
    /** File that they are written to for a program that takes them from one; 0600. */
    readonly file: string;
    /** Whether an ACP program gets them with its session, and does not find them by itself. */
    readonly isInSession: boolean;
  };
  /** Hears how far the MCPs are, from a program that tells. */
  readonly onMcps?: (loads: readonly McpLoad[]) => void;
  readonly decidePermission?: PermissionDecider;
  /** How long the handshake and the start of the conversation may take together. */
  readonly startMs?: number;
  /** How long a cancelled turn may take to end before the runtime is killed. */
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

/** Default of `DriverOptions.startMs`. */
export const START_MS = 90_000;
/** Default of `DriverOptions.cancelMs`. */
export const CANCEL_MS = 15_000;

/** Starts the program in a process group of its own; rejects with a sentence. */
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

/** Returns the id of the conversation that this runtime held last, if it is remembered. */
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

/** Remembers the id of the conversation. */
export async function rememberSession(
  files: Files,
  sessionFile: string,
  record: { readonly runtime: string; readonly sessionId: string },
): Promise<void> {
  const line = JSON.stringify({ runtime: record.runtime, session_id: record.sessionId });
  await writeOwn(files, sessionFile, `${line}\n`);
}

/** Writes a file of the driver, 0600, and makes its folder where there is none. */
export async function writeOwn(files: Files, path: string, text: string): Promise<void> {
  const folder = path.slice(0, path.lastIndexOf("/"));
  if (await files.stat(folder) === undefined) await files.ensureDir(folder, { mode: 0o700 });
  await files.write(path, text, { mode: 0o600 });
}
