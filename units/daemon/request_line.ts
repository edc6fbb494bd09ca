/**
 * Reads one line from a peer that may be slow, send without end, or disconnect. Bounded in bytes
 * and in time. What follows the line is left to the verb, if it reads any.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import type { Clock } from "core/ports/clock.ts";
import { err, ok, type Result } from "core/result.ts";
import { type FirstLine, takeFirstLine } from "core/text/first_line.ts";
import { LineTooLong } from "core/text/lines.ts";

/** Returns the bytes before the first newline, and the stream after it. */
export async function readRequestLine(
  readable: ReadableStream<Uint8Array>,
  clock: Clock,
): Promise<Result<FirstLine>> {
  const late = new AbortController();
  const cancel = clock.after(DAEMON_LIMITS.requestSeconds * 1000, () => late.abort());
  try {
    const first = await takeFirstLine(readable, {
      lineBytesMax: DAEMON_LIMITS.requestBytesMax,
      signal: late.signal,
    });
    if (first !== undefined) return ok(first);
    return err(bad(
      late.signal.aborted
        ? `it did not arrive within ${DAEMON_LIMITS.requestSeconds} seconds`
        : "the connection ended before it arrived",
    ));
  } catch (thrown) {
    const isLong = thrown instanceof LineTooLong;
    return err(
      bad(isLong ? `it is longer than ${thrown.lineBytesMax} bytes` : "the connection broke"),
    );
  } finally {
    cancel();
  }
}

function bad(found: string): Refusal {
  return refusal("request-invalid", `Cannot read the request: ${found}`, { kind: "usage" });
}
