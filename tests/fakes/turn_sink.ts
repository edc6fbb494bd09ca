/**
 * A receiver of a turn's events that drops them.
 *
 * @module
 */

import type { TurnSink } from "units/agent_loop/turn/sink.ts";

/** Creates the receiver. */
export function silentSink(): TurnSink {
  const done = () => Promise.resolve();
  return {
    text: done,
    callStarted: done,
    callEnded: done,
    notice: done,
    summary: done,
    steered: done,
    plan: done,
  };
}
