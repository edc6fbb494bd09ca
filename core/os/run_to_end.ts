/**
 * Feeds a child, collects what it prints up to a bound, and ends it on time-out, on abort and
 * when it prints too much. Never leaves a timer, a reader or a group behind.
 *
 * @module
 */

import type { ProcessExit } from "core/ports/processes.ts";
import type { StartedChild } from "core/os/child.ts";
import { systemClock } from "core/os/clock.ts";

const OUTPUT_BYTES_MAX = 8 * 1024 * 1024;
/** Time between asking a child to end and ending it. */
const KILL_AFTER_MS = 2_000;
/** How long output is awaited after the exit, when a grandchild still holds the pipes. */
const DRAIN_MS = 1_000;

/** The parts of a run that bound it. */
export interface RunBounds {
  readonly input?: string;
  readonly timeoutMs?: number;
  readonly outputBytesMax?: number;
  readonly signal?: AbortSignal;
}

/** What a finished run tells. */
export type RunResult = ProcessExit & {
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly timedOut: boolean;
};

/** Waits for the end of a child that was started at the head of its group. */
export async function runToEnd(child: StartedChild, bounds: RunBounds): Promise<RunResult> {
  const clock = systemClock();
  const cancels: (() => void)[] = [];
  let timedOut = false;
  let left = bounds.outputBytesMax ?? OUTPUT_BYTES_MAX;
  let truncated = false;

  const end = () => {
    child.kill("SIGTERM");
    cancels.push(clock.after(KILL_AFTER_MS, () => child.kill("SIGKILL")));
  };
  if (bounds.timeoutMs !== undefined) {
    cancels.push(clock.after(bounds.timeoutMs, () => {
      timedOut = true;
      end();
    }));
  }
  if (bounds.signal?.aborted === true) end();
  bounds.signal?.addEventListener("abort", end);

  /** Grants what is left of the shared bound. */
  const take = (bytes: number) => {
    const granted = Math.min(bytes, left);
    left -= granted;
    if (granted < bytes && !truncated) {
      truncated = true;
      child.kill("SIGKILL");
    }
    return granted;
  };
  const stdout = collect(child.stdout, take);
  const stderr = collect(child.stderr, take);
  try {
    // A child that does not read its input is no fault of ours: its exit says what it thinks.
    feed(child.stdin, bounds.input).catch(() => {});
    const exit = await child.exited;
    cancels.push(clock.after(DRAIN_MS, () => {
      stdout.stop();
      stderr.stop();
    }));
    return {
      ...exit,
      stdout: await stdout.text,
      stderr: await stderr.text,
      truncated,
      timedOut,
    };
  } finally {
    bounds.signal?.removeEventListener("abort", end);
    for (const cancel of cancels) cancel();
  }
}

async function feed(stdin: WritableStream<Uint8Array>, input: string | undefined): Promise<void> {
  const writer = stdin.getWriter();
  try {
    if (input !== undefined && input !== "") await writer.write(new TextEncoder().encode(input));
  } finally {
    await writer.close().catch(() => {});
  }
}

function collect(
  stream: ReadableStream<Uint8Array>,
  take: (bytes: number) => number,
): { readonly text: Promise<string>; readonly stop: () => void } {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  const read = async () => {
    let text = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        text += decoder.decode(value.subarray(0, take(value.length)), { stream: true });
      }
    } catch {
      // The pipe broke: what came before it is the output.
    }
    return text + decoder.decode();
  };
  return { text: read(), stop: () => void reader.cancel().catch(() => {}) };
}
