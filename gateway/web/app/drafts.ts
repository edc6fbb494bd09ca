/**
 * Drafts of the composer, one for each agent. Each keystroke is stored on the device. When a draft
 * is sent, its text stays stored until the outbox has it on disk, so a crash cannot lose it. Text
 * typed in that short time is stored right after.
 *
 * @module
 */

import { draft, selected } from "gateway/web/app/model.ts";
import { type Draft, keepDraft, newKey, readDraft } from "gateway/web/device/kept.ts";

let draftKey = "";
/** Agents whose last draft is being moved to the outbox, and the text typed since. */
const leaving = new Map<string, { count: number; typed: Draft | undefined }>();

/** Loads an agent's draft into the composer. */
export function showDraft(agent: string | undefined): void {
  const move = agent === undefined ? undefined : leaving.get(agent);
  const kept = agent === undefined ? undefined : move === undefined ? readDraft(agent) : move.typed;
  draftKey = kept?.key ?? newKey();
  draft.value = kept?.text ?? "";
}

/** Handles typing in the composer. */
export function type(words: string): void {
  draft.value = words;
  if (selected.value === undefined) return;
  const typed = { text: words, key: draftKey };
  const move = leaving.get(selected.value);
  if (move === undefined) keepDraft(selected.value, typed);
  else move.typed = typed;
}

/**
 * Starts a draft under a new key: a message that may have arrived must not change under its old
 * key.
 */
export function typeWithNewKey(words: string): void {
  draftKey = newKey();
  type(words);
}

/** Takes the draft out of the composer. Call `stored` when the outbox has it. */
export function takeDraft(): { readonly text: string; readonly key: string; stored(): void } {
  const outgoing = { text: draft.value, key: draftKey };
  const agent = selected.value ?? "";
  const move = leaving.get(agent) ?? { count: 0, typed: undefined };
  move.count++;
  move.typed = undefined;
  leaving.set(agent, move);
  draftKey = newKey();
  draft.value = "";
  return {
    ...outgoing,
    stored: () => {
      move.count--;
      if (move.count > 0) return;
      leaving.delete(agent);
      keepDraft(agent, move.typed);
    },
  };
}

/** A draft whose message is in the outbox was sent just before the page was closed. */
export function dropSentDraft(isInOutbox: (key: string) => boolean): void {
  if (selected.value === undefined || !isInOutbox(draftKey)) return;
  keepDraft(selected.value, undefined);
  draftKey = newKey();
  draft.value = "";
}
