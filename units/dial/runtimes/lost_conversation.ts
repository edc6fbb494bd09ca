/**
 * Reports a conversation that the runtime no longer knows: its next turn begins with a notice,
 * because the model has forgotten everything before it.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { RuntimeSession } from "units/dial/runtimes/driver.ts";
import { failed } from "units/dial/runtimes/turn.ts";

/** Returns a session whose first turn reports that an earlier conversation was lost. */
export function withLossNotice(session: RuntimeSession, reason: string): RuntimeSession {
  let isDue = true;
  return {
    ...session,
    async prompt(turn, onUpdate) {
      if (isDue) {
        isDue = false;
        const text = "Conversation lost: the runtime does not know its earlier turns any more " +
          `(${reason}). This turn begins a new one.`;
        try {
          await onUpdate({ kind: "notice", text });
        } catch (thrown) {
          const why = errorText(thrown);
          return failed("event-not-stored", `An event of the turn was not stored: ${why}`);
        }
      }
      return await session.prompt(turn, onUpdate);
    },
  };
}
