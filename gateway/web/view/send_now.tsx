/**
 * The state of a waiting message, and the choice to send it into the running turn.
 *
 * @module
 */

import { useState } from "preact/hooks";
import { sendNow } from "gateway/web/app/actions.ts";
import { running } from "gateway/web/app/model.ts";
import { canSendNow } from "gateway/web/state/steering.ts";
import type { TurnView } from "gateway/web/state/turns.ts";

/** What is known of a message besides its time. */
export function MessageState({ turn }: { readonly turn: TurnView }) {
  const [isSent, setSent] = useState(false);
  if (turn.outcome?.code === "steered") return <>{" · read by the running turn"}</>;
  if (turn.state !== "sent" && turn.state !== "delivered") return null;
  if (!canSendNow(turn, running.value)) return <>{` · ${turn.state}`}</>;
  if (isSent) return <>{" · will be read before the next step"}</>;
  return (
    <>
      {" · queued "}
      <button
        type="button"
        class="small"
        title="The agent reads it before its next step, instead of after the turn"
        onClick={async () => {
          setSent(true);
          setSent(await sendNow(turn.turnId));
        }}
      >
        Send now
      </button>
    </>
  );
}
