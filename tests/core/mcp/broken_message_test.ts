/**
 * Which lines of a server's output count as broken messages.
 *
 * @module
 */

import assert from "node:assert/strict";
import { brokenMessage } from "core/mcp/broken_message.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const utf16 = (text: string) => {
  const units = Uint16Array.from(`\ufeff${text}`, (char) => char.charCodeAt(0));
  return new Uint8Array(units.buffer);
};
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":{"text":"Grüße"}}';

const LINES: readonly (readonly [string, Uint8Array, string | undefined])[] = [
  ["a complete answer", bytes(ANSWER), undefined],
  ["an answer in Latin-1", latin1(ANSWER), "it is not UTF-8"],
  ["an answer in UTF-16", utf16(ANSWER), "it is not UTF-8"],
  ["half an answer", bytes(ANSWER.slice(0, 40)), "it is not JSON"],
  ["an empty line", bytes(""), undefined],
  ["a banner", bytes("listening on stdio"), undefined],
  ["a banner in Latin-1", latin1("Größe: 4"), undefined],
  ["an object that is not a message", bytes('{ level: "info" }'), undefined],
  ["bytes of no text", new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]), undefined],
];

for (const [name, line, wanted] of LINES) {
  Deno.test(`brokenMessage() of ${name} is ${wanted ?? "nothing"}`, () => {
    assert.equal(brokenMessage(line), wanted);
  });
}
