/**
 * Reports a lost connection or an ended session, with the time of the next attempt and a button to
 * retry now or to sign in.
 *
 * @module
 */

import { retryNow } from "gateway/web/app/actions.ts";
import { connection, now } from "gateway/web/app/model.ts";
import { pillWords } from "gateway/web/state/connection.ts";

/** The pill; hidden while connected. */
export function Pill() {
  const state = connection.value;
  const words = pillWords(state, now.value);
  // The live region always exists; its text changes with the kind only, not each second.
  return (
    <aside class="pill-place" aria-label="Connection">
      <div class="unseen" role="status">{spoken(state.kind)}</div>
      {words === undefined ? null : (
        <div class="pill">
          <span class="pill-words">{words}</span>
          {state.kind === "signed-out"
            ? <a class="button small" href={location.pathname}>Sign in</a>
            : (
              <button type="button" class="small" onClick={retryNow}>
                Retry now
              </button>
            )}
        </div>
      )}
    </aside>
  );
}

function spoken(kind: typeof connection.value.kind): string {
  if (kind === "waiting") return "Connection lost. The page will keep trying.";
  return kind === "signed-out" ? "You are signed out." : "";
}
