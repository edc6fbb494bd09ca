/**
 * One running child behind the `Child` port, and how a signal reaches it or its whole group.
 * Never throws for a child that is gone.
 *
 * @module
 */

import { signalGroup } from "core/os/libc.ts";
import type { Child, ProcessExit } from "core/ports/processes.ts";

type Signal = "SIGTERM" | "SIGKILL" | "SIGINT";

/** A child whose streams are plain byte streams of the platform. */
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
    // The number of an empty group can be given to a stranger, so it is not used again.
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
  };
}

function signalChild(started: Deno.ChildProcess, signal: Signal): void {
  try {
    started.kill(signal);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotCapable) throw thrown;
    // It ended on its own; that is what the signal was for.
  }
}

/** Returns whether there still was a group to signal. */
function killGroupOf(started: Deno.ChildProcess, signal: Signal): boolean {
  try {
    Deno.kill(-started.pid, signal);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof Deno.errors.NotCapable)) return false;
  }
  // Deno.kill needs the right to run any program. With a narrower set the C library sends the
  // signal; without the C library only the head of the group gets it.
  const isThere = signalGroup(started.pid, signal);
  if (isThere === undefined) signalChild(started, signal);
  return isThere ?? true;
}
