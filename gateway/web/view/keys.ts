/**
 * Keyboard shortcuts of the whole page; those of one part are in its component. While text is
 * typed, only Ctrl+K and Escape work; Escape leaves the text field.
 *
 * @module
 */

import { dialog, isAdmin } from "gateway/web/app/model.ts";
import { openAgent, openHosts } from "gateway/web/app/actions.ts";

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ["Ctrl+K", "find an agent or an action"],
  ["/", "go to the composer"],
  ["J or K", "next or previous message"],
  ["Enter", "send (on a phone: new line)"],
  ["Shift+Enter", "new line"],
  ["Esc", "leave the composer; close a dialog"],
  ["G then L", "go to the list of agents"],
  ["End", "go to the newest message"],
  ["?", "this help"],
];

const HOST_KEYS = ["G then H", "go to the hosts of the fleet"] as const;

/** Returns the shortcuts that the help shows. */
export function keysHere(): typeof KEYS {
  return isAdmin.value ? [...KEYS.slice(0, 7), HOST_KEYS, ...KEYS.slice(7)] : KEYS;
}

let lastKey = { key: "", at: 0 };

/** Handles a key that no other handler has handled. */
export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented) return;
  const isOpen = document.querySelector("dialog[open]") !== null;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && !isOpen) {
    // Also works while typing: no text is lost.
    event.preventDefault();
    dialog.value = "palette";
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target as HTMLElement;
  // Checks the element, not the signal: the signal changes a moment after a close.
  if (isOpen) return;
  if (/^(TEXTAREA|INPUT|SELECT)$/.test(target.tagName)) {
    if (event.key === "Escape") target.blur();
    return;
  }
  const isSecond = lastKey.key === "g" && event.timeStamp - lastKey.at < 1_500;
  lastKey = { key: event.key, at: event.timeStamp };
  const isDone = isSecond && event.key === "l"
    ? goToList()
    : isSecond && event.key === "h"
    ? goToHosts()
    : act(event.key);
  if (isDone) event.preventDefault();
}

function act(key: string): boolean {
  switch (key) {
    case "/":
      return focusOn(document.getElementById("composer"));
    case "?":
      dialog.value = "help";
      return true;
    case "j":
    case "k":
      return step(key === "j" ? 1 : -1);
    case "End":
      return focusOn([...articles()].at(-1));
    case "Escape":
      if (!matchMedia("(max-width: 699px)").matches) return false;
      openAgent(undefined);
      return true;
    default:
      return false;
  }
}

function articles(): NodeListOf<HTMLElement> {
  return document.querySelectorAll<HTMLElement>("[data-article]");
}

function goToList(): boolean {
  if (matchMedia("(max-width: 699px)").matches) openAgent(undefined);
  const row = document.querySelector<HTMLElement>(".agent-row[aria-current]") ??
    document.querySelector<HTMLElement>(".agent-row");
  return focusOn(row);
}

function goToHosts(): boolean {
  if (!isAdmin.value) return false;
  openHosts();
  return focusOn(document.querySelector<HTMLElement>(".side-link"));
}

function step(by: 1 | -1): boolean {
  const all = [...articles()];
  const at = all.findIndex((one) => one.contains(document.activeElement));
  const next = at === -1 ? all.at(-1) : all[at + by];
  return focusOn(next);
}

function focusOn(element: HTMLElement | null | undefined): boolean {
  if (element === null || element === undefined) return false;
  element.focus();
  element.scrollIntoView({ block: "nearest" });
  return true;
}
