/**
 * The one place where a lost connection is told, with the time of the next try and a
 * way not to wait.
 *
 * @module
 */

import { retryNow } from "gateway/web/app/actions.ts";
import { connection, now } from "gateway/web/app/model.ts";
import { pillWords } from "gateway/web/state/connection.ts";

/** The pill; nothing while all is well. */
export function Pill() {
  const state = connection.value;
  const words = pillWords(state, now.value);
  // The region is always there; its words change with the kind only, not with each second.
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
