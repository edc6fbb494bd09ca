/**
 * What every driver needs of a program and of its host: the launch, the ports, the file that
 * remembers the conversation. Starts the process; speaks no protocol.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Child, Clock, Files, Log, Processes, Random } from "core/ports.ts";
import type { PermissionDecider } from "core/runtimes/drivers/acp_permission.ts";
import { parseJsonLine } from "core/runtimes/drivers/json_lines.ts";

/** Program of the runtime with its placeholders filled in. */
export interface RuntimeLaunch {
  readonly runtime: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** What a driver needs besides the program. */
export interface DriverOptions {
  /** File that remembers the id of the agent's conversation; written 0600. */
  readonly sessionFile: string;
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
export const START_MS = 60_000;
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
  const folder = sessionFile.slice(0, sessionFile.lastIndexOf("/"));
  if (await files.stat(folder) === undefined) await files.ensureDir(folder, { mode: 0o700 });
  const line = JSON.stringify({ runtime: record.runtime, session_id: record.sessionId });
  await files.write(sessionFile, `${line}\n`, { mode: 0o600 });
}
