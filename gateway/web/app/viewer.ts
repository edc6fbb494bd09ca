/**
 * Detects that another person has signed in on this browser. Another tab announces it through
 * local storage, or the cockpit refuses a call, or a page that becomes visible again reads the
 * storage. The page then hides everything of the former viewer and reloads for the new one.
 *
 * @module
 */

import { otherViewer } from "gateway/web/app/model.ts";
import { OTHER_VIEWER } from "gateway/web/device/cockpit.ts";
import { keepChoice, readChoice, VIEWER } from "gateway/web/device/kept.ts";

const SIGNED_IN = "viewer";

/** Starts watching and announces this page's viewer to other tabs. */
export function watchViewer(): void {
  // A page without a viewer clears the key: other tabs must not yield to it.
  keepChoice(SIGNED_IN, VIEWER === "" ? undefined : VIEWER);
  addEventListener(OTHER_VIEWER, giveWay);
  addEventListener("storage", checkAgain);
  addEventListener("focus", checkAgain);
  addEventListener("pageshow", checkAgain);
  document.addEventListener("visibilitychange", checkAgain);
}

function checkAgain(): void {
  const signedIn = readChoice(SIGNED_IN);
  if (signedIn !== undefined && signedIn !== VIEWER) giveWay();
}

/** Called when the cockpit has answered this page as its viewer. */
export function viewerHolds(): void {
  if (history.state !== null) history.replaceState(null, "");
}

function giveWay(): void {
  if (otherViewer.value) return;
  otherViewer.value = true;
  // A page that returns for the same viewer, for example from a cache, would reload forever.
  if (history.state?.gaveWay === VIEWER) return;
  history.replaceState({ gaveWay: VIEWER }, "");
  location.reload();
}
