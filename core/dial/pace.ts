/**
 * How fast the stored events of one agent are taken: a bucket of events and one of bytes for each
 * agent, whatever its connections. Both begin full and refill at a steady rate. An event is always
 * taken; where it leaves a bucket in debt, the answer is how long nothing more may be read.
 * No I/O; `now` comes in.
 *
 * @module
 */

import { EVENT_LIMITS } from "core/limits/event.ts";

/** Notes an event and returns the milliseconds until the next may be read; 0 within the pace. */
export type NoteEvent = (agent: string, bytes: number, nowMs: number) => number;

interface Bucket {
  events: number;
  bytes: number;
  filledAt: number;
}

/** Makes full buckets, one for each agent that sends. */
export function createDialPace(): NoteEvent {
  const buckets = new Map<string, Bucket>();
  return (agent, bytes, nowMs) => {
    const bucket = buckets.get(agent) ?? full(nowMs);
    buckets.set(agent, bucket);
    fill(bucket, nowMs);
    bucket.events -= 1;
    bucket.bytes -= bytes;
    return Math.ceil(Math.max(
      msUntilPaid(bucket.events, EVENT_LIMITS.perSecond),
      msUntilPaid(bucket.bytes, EVENT_LIMITS.bytesPerSecond),
    ));
  };
}

function full(nowMs: number): Bucket {
  const { burst: events, bytesBurst: bytes } = EVENT_LIMITS;
  return { events, bytes, filledAt: nowMs };
}

function fill(bucket: Bucket, nowMs: number): void {
  const { burst, perSecond, bytesBurst, bytesPerSecond } = EVENT_LIMITS;
  const seconds = Math.max(0, nowMs - bucket.filledAt) / 1_000;
  bucket.events = Math.min(burst, bucket.events + seconds * perSecond);
  bucket.bytes = Math.min(bytesBurst, bucket.bytes + seconds * bytesPerSecond);
  bucket.filledAt = nowMs;
}

function msUntilPaid(left: number, perSecond: number): number {
  return left >= 0 ? 0 : -left / perSecond * 1_000;
}
