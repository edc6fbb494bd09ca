/**
 * Writes frames to a peer that may not read them. A peer that reads nothing for a while, or has
 * disconnected, is dropped. The verb continues, because a half-finished change is worse than lost
 * output.
 *
 * @module
 */

import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import type { Clock } from "core/ports/clock.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import { type DaemonFrame, frameLine } from "core/verbs/daemon_frames.ts";

/** Frames to one peer. */
export interface FrameWriter {
  /** Resolves when the frame was sent or the peer was dropped; never rejects. */
  send(frame: DaemonFrame): Promise<void>;
  /** Whether the peer was dropped. */
  isGone(): boolean;
}

/** Wraps the writing side of a connection. */
export function createFrameWriter(stream: ByteStream, clock: Clock): FrameWriter {
  const writer = stream.writable.getWriter();
  writer.closed.catch(() => {});
  let gone = false;
  return {
    isGone: () => gone,
    async send(frame) {
      if (gone) return;
      const late = Promise.withResolvers<"late">();
      const cancel = clock.after(DAEMON_LIMITS.writeSeconds * 1000, () => late.resolve("late"));
      try {
        const bytes = new TextEncoder().encode(frameLine(frame));
        const outcome = await Promise.race([writer.write(bytes), late.promise]);
        if (outcome === "late") giveUp();
      } catch {
        giveUp();
      } finally {
        cancel();
      }
    },
  };

  function giveUp(): void {
    gone = true;
    stream.close();
  }
}
