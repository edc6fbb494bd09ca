/**
 * Stdin of `fleetctl-exec`: the envelope, and after it the bytes of the client.
 *
 * @module
 */

import assert from "node:assert/strict";
import { envelopeInput } from "cli/exec/envelope_input.ts";

const BYTES_MAX = 64;

async function read(stdin: string | Uint8Array<ArrayBuffer>) {
  const { readStdin, openStdin } = envelopeInput(new Blob([stdin]).stream());
  const envelope = await readStdin(BYTES_MAX);
  const rest = envelope.ok ? await new Response(openStdin()).text() : "";
  return { envelope, rest };
}

Deno.test("envelopeInput() returns the first line, then the rest", async () => {
  const { envelope, rest } = await read('{"a":1}\nhello\nworld');
  assert.deepEqual(envelope, { ok: true, value: '{"a":1}' });
  assert.equal(rest, "hello\nworld");
});

Deno.test("envelopeInput() returns nothing of a stdin without a line", async () => {
  const { envelope, rest } = await read("torn");
  assert.deepEqual(envelope, { ok: true, value: "" });
  assert.equal(rest, "");
});

Deno.test("envelopeInput() refuses a long line and bad UTF-8", async () => {
  for (const stdin of ["a".repeat(BYTES_MAX + 1), Uint8Array.of(0xff, 0x0a)]) {
    const { envelope } = await read(stdin);
    assert.ok(!envelope.ok);
    assert.equal(envelope.error.code, "envelope-unreadable");
  }
});
