/**
 * Which text of an agent's messages is still to be shown. Previews show a message as it grows. The
 * whole message then adds what its previews missed, so that no text appears twice. Pure.
 *
 * @module
 */

import type { PreviewEvent } from "core/dial/event.ts";

/** What one preview or one whole message adds. */
export interface MessageStep {
  readonly id: string;
  /** Whether this step begins another message than the last step. */
  readonly isNew: boolean;
  /** May be empty. */
  readonly text: string;
}

/** Follows the messages of one turn. */
export interface MessageProgress {
  preview(payload: PreviewEvent["payload"]): MessageStep;
  whole(payload: Readonly<Record<string, unknown>>): MessageStep;
}

/** Creates the progress of a turn that has no message yet. */
export function createMessageProgress(): MessageProgress {
  /** The current message, and how many of its characters are shown and stored. */
  let message = { id: "", shown: 0, stored: 0 };
  const begin = (id: string) => {
    if (message.id === id) return false;
    message = { id, shown: 0, stored: 0 };
    return true;
  };
  return {
    preview({ message_id: id, text, offset }) {
      const isNew = begin(id);
      // A dropped preview leaves a gap, which the whole message fills.
      if (offset !== undefined && offset !== message.shown) return { id, isNew, text: "" };
      message.shown += text.length;
      return { id, isNew, text };
    },
    whole(payload) {
      const id = String(payload.message_id);
      const text = String(payload.text);
      const isNew = begin(id);
      const missing = text.slice(Math.max(0, message.shown - message.stored));
      message.stored += text.length;
      message.shown = Math.max(message.shown, message.stored);
      return { id, isNew, text: missing };
    },
  };
}
