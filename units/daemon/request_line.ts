/**
 * Reads one line from a peer that may be slow, endless or gone. Bounded in bytes and in time; it
 * reads no further than the first chunk that holds the newline.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { DAEMON_LIMITS } from "core/limits.ts";
import type { Clock } from "core/ports.ts";
import { err, ok, type Result } from "core/result.ts";

const NEWLINE = 10;

/** Returns the bytes before the first newline. */
export async function readRequestLine(
  readable: ReadableStream<Uint8Array>,
  clock: Clock,
): Promise<Result<Uint8Array>> {
  const reader = readable.getReader();
  const late = Promise.withResolvers<"late">();
  const cancel = clock.after(DAEMON_LIMITS.requestSeconds * 1000, () => late.resolve("late"));
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    while (true) {
      const part = await Promise.race([reader.read(), late.promise]);
      if (part === "late") {
        return err(bad(`it did not come within ${DAEMON_LIMITS.requestSeconds} seconds`));
      }
      if (part.done) return err(bad("the connection ended before it did"));
      const end = part.value.indexOf(NEWLINE);
      length += end < 0 ? part.value.length : end;
      if (length > DAEMON_LIMITS.requestBytesMax) {
        return err(bad(`it is longer than ${DAEMON_LIMITS.requestBytesMax} bytes`));
      }
      parts.push(end < 0 ? part.value : part.value.subarray(0, end));
      if (end >= 0) return ok(joined(parts, length));
    }
  } catch {
    return err(bad("the connection broke"));
  } finally {
    cancel();
    // The read that is under way settles when the connection closes; nobody waits for it.
    reader.cancel().catch(() => {});
  }
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function bad(found: string): Refusal {
  return refusal("request-invalid", `Cannot read the request: ${found}`, { kind: "usage" });
}
