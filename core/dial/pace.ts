/**
 * Rate limits on the stored events of each agent: one token bucket of events and one of bytes,
 * shared by all its connections. Both start full and refill at a steady rate. An event is always
 * accepted. If it leaves a bucket in debt, the result is how long reading must pause. No I/O; `now`
 * is a parameter.
 *
 * @module
 */

import { EVENT_LIMITS } from "core/limits/event.ts";

/** Counts an event; returns milliseconds until the next read, 0 within the limits. */
export type CountEvent = (agent: string, bytes: number, nowMs: number) => number;

interface Bucket {
  events: number;
  bytes: number;
  filledAt: number;
}

/** Creates the limiter; each agent's buckets are created full at its first event. */
export function createDialPace(): CountEvent {
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
