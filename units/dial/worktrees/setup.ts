/**
 * Runs the set-up script of a new worktree, in its own process group, as the agent and in its
 * sandbox. Keeps the end of its output: the reason for a failure is there.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Child, Processes } from "core/ports/processes.ts";
import { MODEL_KEY_NAMES } from "core/runtimes/model_keys.ts";
import { childEnv } from "units/dial/runtimes/launch.ts";

/** Time limit of a script. Installing dependencies takes minutes. */
export const SETUP_MS = 10 * 60_000;
/** Bytes of the script's output that are kept. */
export const SETUP_OUTPUT_BYTES_MAX = 16 * 1024;
/** Lines of the output that a refusal shows. */
const LAST_LINES = 5;
const LINE_LENGTH_MAX = 200;
/** Time between SIGTERM and SIGKILL. */
const KILL_AFTER_MS = 5_000;
/** How long to wait for output after the end, when a detached process keeps the pipes open. */
const DRAIN_MS = 1_000;
/** Runs an executable file as the kernel does, and another file as a shell script. */
const START = 'if [ -x "$0" ]; then exec "$0"; fi; exec sh "$0"';

/** How a script ended. */
export interface SetupEnd {
  readonly result: "done" | "failed" | "late" | "stopped";
  /** How it ended, such as `exit status 3`. */
  readonly how: string;
  /** The end of its output. */
  readonly output: string;
  /** Bytes of the output that were dropped. */
  readonly cutBytes: number;
}

/** What the script gets. */
export interface SetupContext {
  readonly processes: Pick<Processes, "spawn">;
  readonly clock: Pick<Clock, "after">;
  readonly env: Readonly<Record<string, string>>;
  /** The worktree. */
  readonly folder: string;
  /** Path relative to the worktree. */
  readonly script: string;
  readonly signal: AbortSignal;
}

/** Returns the environment of a script: that of the runtime, without the keys of models. */
export function setupEnv(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const passed = Object.entries(childEnv(env)).filter(([name]) => !MODEL_KEY_NAMES.includes(name));
  return Object.fromEntries(passed);
}

/** Runs the script to its end. Never rejects. */
export async function runSetup(context: SetupContext): Promise<SetupEnd> {
  const { processes, clock, env, folder, script, signal } = context;
  if (signal.aborted) return { result: "stopped", how: "it was cancelled", ...NO_OUTPUT };
  let child: Child;
  try {
    child = await processes.spawn({
      command: "sh",
      args: ["-c", START, `./${script}`],
      env,
      cwd: folder,
      group: true,
    });
  } catch (thrown) {
    return { result: "failed", how: errorText(thrown), ...NO_OUTPUT };
  }
  let stopped: "late" | "stopped" | undefined;
  const cancels: (() => void)[] = [];
  const stop = (why: "late" | "stopped") => {
    stopped ??= why;
    child.kill("SIGTERM");
    cancels.push(clock.after(KILL_AFTER_MS, () => child.kill("SIGKILL")));
  };
  const onAbort = () => stop("stopped");
  signal.addEventListener("abort", onAbort, { once: true });
  cancels.push(clock.after(SETUP_MS, () => stop("late")));
  const output = createTail();
  const pipes = [child.stdout, child.stderr].map((stream) => follow(stream, output.add));
  // A script need not read its input.
  void child.stdin.close().catch(() => {});
  const { code, signal: killedBy } = await child.exited;
  // Processes that it left behind must not change files while a turn runs.
  child.kill("SIGKILL");
  cancels.push(clock.after(DRAIN_MS, () => pipes.forEach((pipe) => pipe.stop())));
  await Promise.all(pipes.map((pipe) => pipe.done));
  signal.removeEventListener("abort", onAbort);
  cancels.forEach((cancel) => cancel());
  const how = code === undefined ? `signal ${killedBy}` : `exit status ${code}`;
  return { result: stopped ?? (code === 0 ? "done" : "failed"), how, ...output.end() };
}

/** Returns the last lines of an output, in one line. */
export function lastLines(output: string): string {
  return output.split("\n").map((line) => line.replace(/\p{Cc}+/gu, " ").trim())
    .filter((line) => line !== "").slice(-LAST_LINES)
    .map((line) => line.slice(0, LINE_LENGTH_MAX)).join(" | ");
}

const NO_OUTPUT = { output: "", cutBytes: 0 };

/** Keeps the last bytes of a stream. */
function createTail() {
  let kept: Uint8Array[] = [];
  let bytes = 0;
  let total = 0;
  return {
    add: (piece: Uint8Array) => {
      total += piece.length;
      bytes += piece.length;
      kept.push(piece);
      if (bytes < 2 * SETUP_OUTPUT_BYTES_MAX) return;
      const tail = joined(kept).slice(-SETUP_OUTPUT_BYTES_MAX);
      kept = [tail];
      bytes = tail.length;
    },
    end: () => {
      const tail = joined(kept).slice(-SETUP_OUTPUT_BYTES_MAX);
      // The first character may be cut in its middle.
      const output = new TextDecoder().decode(tail).replace(/^\ufffd+/, "");
      return { output, cutBytes: total - tail.length };
    },
  };
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function follow(
  stream: ReadableStream<Uint8Array>,
  add: (piece: Uint8Array) => void,
): { readonly done: Promise<void>; readonly stop: () => void } {
  const reader = stream.getReader();
  const read = async () => {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        add(value);
      }
    } catch {
      // The pipe broke; the output up to here is kept.
    }
  };
  return { done: read(), stop: () => void reader.cancel().catch(() => {}) };
}
