/**
 * The buffer of a tool's output: what it keeps when the output is too long.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { createOutputBuffer } from "units/agent_loop/tools/output_buffer.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("createOutputBuffer() keeps what fits, whatever the chunks are", () => {
  fc.assert(fc.property(fc.array(fc.string({ maxLength: 40 })), (chunks) => {
    const buffer = createOutputBuffer(10_000);
    for (const chunk of chunks) buffer.add(bytes(chunk));
    assert.equal(buffer.text(), chunks.join(""));
  }));
});

Deno.test("createOutputBuffer() keeps beginning and end and counts the rest", () => {
  const chunks = fc.array(fc.stringMatching(/^[a-z]{0,30}$/), { minLength: 1, maxLength: 60 });
  fc.assert(fc.property(chunks, (list) => {
    const buffer = createOutputBuffer(64);
    for (const chunk of list) buffer.add(bytes(chunk));
    const whole = list.join("");
    const expected = whole.length <= 64
      ? whole
      : `${whole.slice(0, 32)}\n[… ${whole.length - 64} bytes left out …]\n${whole.slice(-32)}`;
    assert.equal(buffer.text(), expected);
  }));
});
