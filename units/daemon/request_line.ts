/**
 * Reads one line from a peer that may be slow, send without end, or disconnect. Bounded in bytes
 * and in time. Reads no further than the first chunk that contains the newline.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import type { Clock } from "core/ports/clock.ts";
import { err, ok, type Result } from "core/result.ts";
import { LineSplitter, LineTooLong } from "core/text/lines.ts";

/** Returns the bytes before the first newline. */
export async function readRequestLine(
  readable: ReadableStream<Uint8Array>,
  clock: Clock,
): Promise<Result<Uint8Array>> {
  const reader = readable.getReader();
  const late = Promise.withResolvers<"late">();
  const cancel = clock.after(DAEMON_LIMITS.requestSeconds * 1000, () => late.resolve("late"));
  const splitter = new LineSplitter({ lineBytesMax: DAEMON_LIMITS.requestBytesMax });
  try {
    while (true) {
      const part = await Promise.race([reader.read(), late.promise]);
      if (part === "late") {
        return err(bad(`it did not arrive within ${DAEMON_LIMITS.requestSeconds} seconds`));
      }
      if (part.done) return err(bad("the connection ended before it arrived"));
      const [line] = splitter.push(part.value);
      if (line !== undefined) return ok(line);
    }
  } catch (thrown) {
    const isLong = thrown instanceof LineTooLong;
    return err(
      bad(isLong ? `it is longer than ${thrown.lineBytesMax} bytes` : "the connection broke"),
    );
  } finally {
    cancel();
    // The pending read settles when the connection closes; no caller waits for it.
    reader.cancel().catch(() => {});
  }
}

function bad(found: string): Refusal {
  return refusal("request-invalid", `Cannot read the request: ${found}`, { kind: "usage" });
}
