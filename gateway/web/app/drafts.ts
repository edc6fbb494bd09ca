/**
 * What is being typed, for each agent. It is on the device before the next key. When a draft is
 * sent, its text stays there as a draft until the outbox has it on disk, so that no moment is left
 * in which it is nowhere; what is typed in that short time is kept right after.
 *
 * @module
 */

import { draft, selected } from "gateway/web/app/model.ts";
import { type Draft, keepDraft, newKey, readDraft } from "gateway/web/device/kept.ts";

let draftKey = "";
/** Agents whose last draft is on its way to the outbox, and what was typed since. */
const leaving = new Map<string, { count: number; typed: Draft | undefined }>();

/** Brings an agent's draft to the composer. */
export function showDraft(agent: string | undefined): void {
  const way = agent === undefined ? undefined : leaving.get(agent);
  const kept = agent === undefined ? undefined : way === undefined ? readDraft(agent) : way.typed;
  draftKey = kept?.key ?? newKey();
  draft.value = kept?.text ?? "";
}

/** Takes what is typed. */
export function type(words: string): void {
  draft.value = words;
  if (selected.value === undefined) return;
  const typed = { text: words, key: draftKey };
  const way = leaving.get(selected.value);
  if (way === undefined) keepDraft(selected.value, typed);
  else way.typed = typed;
}

/** Types under a new key: a message that may have arrived must not be changed under its old one. */
export function typeAnew(words: string): void {
  draftKey = newKey();
  type(words);
}

/** Takes the draft out of the composer; `stored` is to be called when the outbox has it. */
export function takeDraft(): { readonly text: string; readonly key: string; stored(): void } {
  const taken = { text: draft.value, key: draftKey };
  const agent = selected.value ?? "";
  const way = leaving.get(agent) ?? { count: 0, typed: undefined };
  way.count++;
  way.typed = undefined;
  leaving.set(agent, way);
  draftKey = newKey();
  draft.value = "";
  return {
    ...taken,
    stored: () => {
      way.count--;
      if (way.count > 0) return;
      leaving.delete(agent);
      keepDraft(agent, way.typed);
    },
  };
}

/** A draft whose message is in the outbox was sent just before the page ended. */
export function dropSentDraft(isInOutbox: (key: string) => boolean): void {
  if (selected.value === undefined || !isInOutbox(draftKey)) return;
  keepDraft(selected.value, undefined);
  draftKey = newKey();
  draft.value = "";
}
