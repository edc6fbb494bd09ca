/**
 * Reads fields of messages from a peer that may send anything. A value of the wrong shape reads as
 * empty. Pure.
 *
 * @module
 */

import { isRecord } from "core/text/json_object.ts";

/** A JSON object of unknown fields. */
export type Message = Readonly<Record<string, unknown>>;

/** Returns `value` if it is a string, otherwise an empty string. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns `value` if it is an object, otherwise an empty object. */
export function fieldsOf(value: unknown): Message {
  return isRecord(value) ? value : {};
}

/** Returns the content blocks of a message; a plain text is one block. */
export function blocksOf(content: unknown): readonly Message[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.map(fieldsOf) : [];
}

/** A piece of an assistant's text, as an ACP update. */
export function textChunk(messageId: string, text: string): unknown {
  return { sessionUpdate: "agent_message_chunk", messageId, content: { type: "text", text } };
}

/** A notice for the person who watches, as an ACP update. */
export function notice(title: string, description?: string): unknown {
  return { sessionUpdate: "notice", title, ...(description ? { description } : {}) };
}
