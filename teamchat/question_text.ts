/**
 * The message about a question that a program asks its owner. It cannot be answered in the chat, so
 * the message says where. Pure.
 *
 * @module
 */

import { type QuestionForm, summaryOf } from "core/questions/form.ts";

/** Characters of a question in the message; the page shows all of it. */
const SHOWN_LENGTH_MAX = 600;

/** Returns the message as Markdown. */
export function questionText(id: string, form: QuestionForm): string {
  const asker = form.mcp === null ? "I ask you" : `MCP ${plain(form.mcp)} asks you`;
  const asked = summaryOf(form);
  const shown = asked.length > SHOWN_LENGTH_MAX ? `${asked.slice(0, SHOWN_LENGTH_MAX)}…` : asked;
  return `${asker}: ${plain(shown)}\n\nI wait for the answer. You can answer in my page, if you ` +
    `have one; an operator can answer on my host: \`fleetctl questions answer ${id}\``;
}

/** The program's text must not format the message or hide an address behind a word. */
function plain(text: string): string {
  return text.replace(/[\\`*_[\]<>#|~!]/g, "\\$&");
}
