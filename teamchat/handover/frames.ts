/**
 * What the two halves of the gateway say to one another over a unix socket, a line of JSON
 * each: the receiving half asks, the sending half answers by number. The receiving half
 * listens, so that it has no way inward by itself; the sending half believes nothing of it but
 * that the token was good. Pure.
 *
 * | Asked | Answered |
 * |---|---|
 * | `activity`: text of an activity, when it was received, its key | `status` and `body` for the platform |
 * | `state` | health and metrics of the sending half |
 *
 * @module
 */

import type { Health } from "teamchat/health.ts";

/** What the receiving half asks; `n` comes back in the answer. */
export type Asked =
  | {
    readonly type: "activity";
    readonly n: number;
    readonly body: string;
    /** Milliseconds since the epoch. */
    readonly received: number;
    /** Recognizes the same activity when it is handed over again. */
    readonly key: string;
  }
  | { readonly type: "state"; readonly n: number };

/** What the sending half answers. */
export type Answered =
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

/** A question without its number. */
export type Question = Asked extends infer One ? One extends Asked ? Omit<One, "n"> : never : never;

/** Longest line: an activity of the longest length, every character of it escaped. */
export const LINE_BYTES_MAX = 2 * 1024 * 1024;

/** Reads a question; undefined when it is none. */
export function readAsked(line: string): Asked | undefined {
  const value = readObject(line);
  if (typeof value?.n !== "number") return undefined;
  const { type, n, body, received, key } = value;
  if (type === "state") return { type, n };
  const isActivity = type === "activity" && typeof body === "string" && typeof key === "string" &&
    typeof received === "number" && Number.isSafeInteger(received) && received >= 0 &&
    key.length <= 64;
  return isActivity ? { type, n, body, received, key } : undefined;
}

/** Reads an answer; undefined when it is none. */
export function readAnswered(line: string): Answered | undefined {
  const value = readObject(line);
  if (typeof value?.n !== "number") return undefined;
  const { type, n, status, body, health, metrics } = value;
  const isStatus = typeof status === "number" && Number.isInteger(status);
  if (type === "taken" && isStatus && typeof body === "string") {
    return { type, n, status, body };
  }
  const isState = type === "state" && typeof health === "object" && typeof metrics === "string";
  return isState ? { type, n, health: health as Health, metrics } : undefined;
}

function readObject(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null
      ? value as Record<string, unknown>
      : undefined;
  } catch {
    return undefined;
  }
}
