/**
 * Looking into messages of a peer that may send anything: what has not the wanted shape reads as
 * empty. Pure.
 *
 * @module
 */

import { isRecord } from "core/text/json_object.ts";

/** A JSON object of unknown fields. */
export type Message = Readonly<Record<string, unknown>>;

/** Returns a text, or an empty one. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns an object, or an empty one. */
export function fieldsOf(value: unknown): Message {
  return isRecord(value) ? value : {};
}

/** Returns the content blocks of a message; a plain text is one block. */
export function blocksOf(content: unknown): readonly Message[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.map(fieldsOf) : [];
}

/** A piece of an assistant's text, in the words of ACP. */
export function textChunk(messageId: string, text: string): unknown {
  return { sessionUpdate: "agent_message_chunk", messageId, content: { type: "text", text } };
}

/** A line for the person who watches, in the words of ACP. */
export function notice(title: string, description?: string): unknown {
  return { sessionUpdate: "notice", title, ...(description ? { description } : {}) };
}
