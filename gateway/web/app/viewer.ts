/**
 * Notices that somebody else has signed in on this browser: another tab says so through local
 * storage, the cockpit through a refusal, and a page that is looked at again asks storage. Then
 * nothing of the former viewer is shown any more, and the page is loaded for the new one.
 *
 * @module
 */

import { otherViewer } from "gateway/web/app/model.ts";
import { OTHER_VIEWER } from "gateway/web/device/cockpit.ts";
import { keepChoice, readChoice, VIEWER } from "gateway/web/device/kept.ts";

const SIGNED_IN = "viewer";

/** Starts to watch; says to other tabs whom this page is for. */
export function watchViewer(): void {
  // A page for nobody takes it back: it is no viewer that others would have to give way to.
  keepChoice(SIGNED_IN, VIEWER === "" ? undefined : VIEWER);
  addEventListener(OTHER_VIEWER, giveWay);
  addEventListener("storage", lookAgain);
  addEventListener("focus", lookAgain);
  addEventListener("pageshow", lookAgain);
  document.addEventListener("visibilitychange", lookAgain);
}

function lookAgain(): void {
  const signedIn = readChoice(SIGNED_IN);
  if (signedIn !== undefined && signedIn !== VIEWER) giveWay();
}

/** The cockpit has answered this page as its viewer. */
export function viewerHolds(): void {
  if (history.state !== null) history.replaceState(null, "");
}

function giveWay(): void {
  if (otherViewer.value) return;
  otherViewer.value = true;
  // A page that comes back for the same viewer, as from a careless cache, would be loaded for ever.
  if (history.state?.gaveWay === VIEWER) return;
  history.replaceState({ gaveWay: VIEWER }, "");
  location.reload();
}
