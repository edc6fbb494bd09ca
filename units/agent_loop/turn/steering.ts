/**
 * Messages that the owner sends into a running turn. They wait in memory until the turn is between
 * two answers of the model, are then stored, and are part of the next prompt. A message that is not
 * stored when the turn ends stays with its sender, who sends it as the next turn.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { Conversation } from "units/agent_loop/conversation/store.ts";
import { parseCommand } from "units/agent_loop/turn/commands.ts";
import type { TurnSink } from "units/agent_loop/turn/sink.ts";

/** A message for the running turn; its id is that of the turn that it would have been. */
export interface SteerMessage {
  readonly id: string;
  readonly text: string;
}

/** The waiting messages of one turn. */
export interface SteerInbox {
  /** Adds a message; a repeated one and a command are ignored. */
  add(message: SteerMessage): void;
  /** Takes the oldest message. */
  take(): SteerMessage | undefined;
}

/** Creates an empty inbox. */
export function createInbox(): SteerInbox {
  const waiting: SteerMessage[] = [];
  return {
    add(message) {
      const isKnown = waiting.some(({ id }) => id === message.id);
      // A command is a turn by itself.
      if (!isKnown && parseCommand(message.text) === undefined) waiting.push(message);
    },
    take: () => waiting.shift(),
  };
}

/** Stores and reports the waiting messages, each once; returns how many were new. */
export async function takeSteers(
  inbox: SteerInbox,
  { conversation, sink, clock }: {
    readonly conversation: Conversation;
    readonly sink: TurnSink;
    readonly clock: Pick<Clock, "now">;
  },
): Promise<number> {
  let taken = 0;
  for (let message = inbox.take(); message !== undefined; message = inbox.take()) {
    const { id, text } = message;
    const known = conversation.records().find((each) => each.type === "steer" && each.id === id);
    if (known !== undefined) continue;
    const record = { type: "steer" as const, at: clock.now(), id, text };
    await conversation.append(record);
    await sink.steered(record);
    taken++;
  }
  return taken;
}
