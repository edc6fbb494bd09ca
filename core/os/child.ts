/**
 * One running child behind the `Child` port, and signals to it or to its whole group. Never throws
 * for a child that has ended.
 *
 * @module
 */

import { signalGroup } from "core/os/libc.ts";
import { readFamily } from "core/os/process_family.ts";
import type { Child, ProcessExit } from "core/ports/processes.ts";

type Signal = "SIGTERM" | "SIGKILL" | "SIGINT";

/** A child whose streams are the platform's byte streams. */
export interface StartedChild extends Child {
  readonly stdout: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly stderr: ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** Wraps a started process. */
export function childOf(started: Deno.ChildProcess, isGroup: boolean): StartedChild {
  let isRunning = true;
  let isGroupGone = false;
  const exited = started.status.then(
    ({ code, signal }): ProcessExit => {
      isRunning = false;
      return signal === null ? { code, signal: undefined } : { code: undefined, signal };
    },
    (): ProcessExit => {
      isRunning = false;
      return { code: undefined, signal: "SIGKILL" };
    },
  );
  const killGroup = (signal: Signal) => {
    // The kernel can reuse the id of an empty group, so do not signal it again.
    if (!isGroupGone) isGroupGone = !killGroupOf(started, signal);
  };
  return {
    pid: started.pid,
    stdin: started.stdin,
    stdout: started.stdout,
    stderr: started.stderr,
    exited,
    kill: (signal) => {
      if (isGroup) killGroup(signal);
      else if (isRunning) signalChild(started, signal);
    },
    family: () => readFamily(started.pid),
  };
}

function signalChild(started: Deno.ChildProcess, signal: Signal): void {
  try {
    started.kill(signal);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotCapable) throw thrown;
    // The child has already ended.
  }
}

/** Returns whether the group still existed. */
function killGroupOf(started: Deno.ChildProcess, signal: Signal): boolean {
  try {
    Deno.kill(-started.pid, signal);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof Deno.errors.NotCapable)) return false;
  }
  // Deno.kill requires permission to run any program. With fewer permissions, the C library sends
  // the signal. Without the C library, only the group's leader receives it.
  const isThere = signalGroup(started.pid, signal);
  if (isThere === undefined) signalChild(started, signal);
  return isThere ?? true;
}
