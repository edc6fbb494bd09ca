/**
 * Frames between receiver and sender over a unix socket, one line of JSON each. The receiver sends
 * requests; the sender answers by number. The receiver listens, so it has no way to connect
 * inward. The sender trusts only that the token was valid. Pure.
 *
 * | Request | Answer |
 * |---|---|
 * | `activity`: text of an activity, when it was received, its key | `status` and `body` for the platform |
 * | `state` | health and metrics of the sender |
 *
 * @module
 */

import type { Health } from "teamchat/health.ts";

/** A request of the receiver; the answer repeats `n`. */
export type HandoverRequest =
  | {
    readonly type: "activity";
    readonly n: number;
    readonly body: string;
    /** Milliseconds since the epoch. */
    readonly received: number;
    /** Identifies the same activity when it is handed over again. */
    readonly key: string;
  }
  | { readonly type: "state"; readonly n: number };

/** An answer of the sender. */
export type HandoverResponse =
  | {
    readonly type: "taken";
    readonly n: number;
    readonly status: number;
    readonly body: string;
  }
  | {
    readonly type: "state";
    readonly n: number;
    readonly health: Health;
    readonly metrics: string;
  };

/** A request without its number. */
export type RequestBody = HandoverRequest extends infer One
  ? One extends HandoverRequest ? Omit<One, "n"> : never
  : never;

/** Longest line: an activity of the largest size with every character escaped. */
export const LINE_BYTES_MAX = 2 * 1024 * 1024;

/** Parses a request; undefined when malformed. */
export function parseRequest(line: string): HandoverRequest | undefined {
  const value = parseObject(line);
  if (typeof value?.n !== "number") return undefined;
  const { type, n, body, received, key } = value;
  if (type === "state") return { type, n };
  const isActivity = type === "activity" && typeof body === "string" && typeof key === "string" &&
    typeof received === "number" && Number.isSafeInteger(received) && received >= 0 &&
    key.length <= 64;
  return isActivity ? { type, n, body, received, key } : undefined;
}

/** Parses an answer; undefined when malformed. */
export function parseResponse(line: string): HandoverResponse | undefined {
  const value = parseObject(line);
  if (typeof value?.n !== "number") return undefined;
  const { type, n, status, body, health, metrics } = value;
  const isStatus = typeof status === "number" && Number.isInteger(status);
  if (type === "taken" && isStatus && typeof body === "string") {
    return { type, n, status, body };
  }
  const isState = type === "state" && typeof health === "object" && typeof metrics === "string";
  return isState ? { type, n, health: health as Health, metrics } : undefined;
}

function parseObject(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null
      ? value as Record<string, unknown>
      : undefined;
  } catch {
    return undefined;
  }
}
