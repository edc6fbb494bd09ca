/**
 * Writes a child's input, collects its output up to a bound, and ends it on time-out, on abort and
 * on too much output. Never leaves a timer or a reader behind.
 *
 * @module
 */

import type { ProcessExit } from "core/ports/processes.ts";
import type { StartedChild } from "core/os/child.ts";
import { systemClock } from "core/os/clock.ts";

const OUTPUT_BYTES_MAX = 8 * 1024 * 1024;
/** Time between SIGTERM and SIGKILL. */
const KILL_AFTER_MS = 2_000;
/** How long to wait for output after the exit, when a grandchild keeps the pipes open. */
const DRAIN_MS = 1_000;

/** Input and limits of a run. */
export interface RunBounds {
  readonly input?: string;
  readonly timeoutMs?: number;
  readonly outputBytesMax?: number;
  readonly signal?: AbortSignal;
}

/** The result of a finished run. */
export type RunResult = ProcessExit & {
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly timedOut: boolean;
};

/** Waits for the end of a child that leads its process group. */
export async function runToEnd(child: StartedChild, bounds: RunBounds): Promise<RunResult> {
  const clock = systemClock();
  const cancels: (() => void)[] = [];
  let timedOut = false;
  let left = bounds.outputBytesMax ?? OUTPUT_BYTES_MAX;
  let truncated = false;
  let isEnded = false;

  const end = () => {
    isEnded = true;
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

  /** Grants bytes from the limit that both pipes share. */
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
    // A child need not read its input; its exit status shows whether it failed.
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
    // Others of the group may ignore SIGTERM, although its leader has ended.
    if (isEnded) child.kill("SIGKILL");
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
      // The pipe broke; keep the output up to here.
    }
    return text + decoder.decode();
  };
  return { text: read(), stop: () => void reader.cancel().catch(() => {}) };
}
