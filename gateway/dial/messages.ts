/**
 * Messages between agents. Each becomes a turn of the receiver. Their size, rate and chain length
 * are limited. The gateway counts the chain itself and does not trust the sender's value.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { MESSAGE_LIMITS } from "core/limits/message.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Random } from "core/ports/random.ts";
import { err, type Result } from "core/result.ts";
import { byteLength } from "core/text/cut_text.ts";
import { MINUTE_MS } from "core/text/duration.ts";
import type { LiveRoster } from "gateway/live_roster.ts";
import type { EventLog, NewTurn, Turn, TurnStore } from "gateway/transcript/event_log.ts";
import { agentStorageFull } from "gateway/transcript/usage.ts";

/** A `message` frame. */
export interface AgentMessage {
  readonly id: string;
  readonly to: string;
  readonly text: string;
}

/** Sending messages. */
export interface Messages {
  /** Queues the message as a turn of the other agent. A repeated id queues nothing. */
  send(
    from: string,
    message: AgentMessage,
    queue: (turn: NewTurn) => Promise<Result<Turn>>,
  ): Promise<Result<Turn>>;
  /** Names of the agents that `agent` may write to. */
  namesFor(agent: string): readonly string[];
}

/** Creates the messages of one gateway. */
export function createMessages(deps: {
  readonly roster: Pick<LiveRoster, "current">;
  readonly turns: TurnStore;
  /**
   * Whether the sender may store more. Its messages count against its own share, not the
   * receiver's.
   */
  readonly hasRoom: EventLog["hasRoom"];
  readonly clock: Clock;
  readonly random: Random;
}): Messages {
  const { roster, turns, hasRoom, clock, random } = deps;
  const names = (): ReadonlySet<string> => roster.current().agents;
  const sentAt = new Map<string, number[]>();

  /** Counts one more message of a sender. Returns false when its limit per minute is reached. */
  function takePlace(from: string): boolean {
    const now = clock.monotonic();
    const recent = (sentAt.get(from) ?? []).filter((at) => now - at < MINUTE_MS);
    const hasPlace = recent.length < MESSAGE_LIMITS.perMinuteMax;
    sentAt.set(from, hasPlace ? [...recent, now] : recent);
    return hasPlace;
  }

  return {
    namesFor: (agent) => [...names()].filter((name) => name !== agent).sort(),
    send: async (from, message, queue) => {
      const { id, to, text } = message;
      if (!names().has(from) || !names().has(to) || to === from) return err(unknownReceiver(to));
      if (text.trim() === "") return err(emptyMessage(to));
      if (byteLength(text) > MESSAGE_LIMITS.textBytesMax) return err(tooLong(to));
      const hops = ((await turns.runningOf(from))?.hops ?? 0) + 1;
      if (hops > MESSAGE_LIMITS.hopsMax) return err(loop(to));
      if (!takePlace(from)) return err(tooMany(to));
      if (!await hasRoom(from)) return err(agentStorageFull("the message", from));
      return queue({
        turnId: random.uuid(),
        agent: to,
        text,
        origin: `agent:${from}`,
        hops,
        asker: `agent:${from}`,
        idempotencyKey: id,
        at: clock.now(),
      });
    },
  };
}

function cannot(code: string, to: string, found: string) {
  return refusal(code, `Cannot send the message to ${JSON.stringify(to)}: ${found}`);
}
function unknownReceiver(to: string) {
  return cannot("receiver-unknown", to, "there is no other agent of this name at this gateway");
}
function emptyMessage(to: string) {
  return cannot("message-empty", to, "it is empty, must contain text");
}
function tooLong(to: string) {
  const limit = MESSAGE_LIMITS.textBytesMax;
  return cannot("message-too-long", to, `it is too long, must be at most ${limit} bytes`);
}
function loop(to: string) {
  const limit = MESSAGE_LIMITS.hopsMax;
  return cannot("message-loop", to, `the chain of messages has reached its limit of ${limit}`);
}
function tooMany(to: string) {
  const limit = MESSAGE_LIMITS.perMinuteMax;
  return cannot("message-rate", to, `${limit} messages were sent within a minute, must wait`);
}
