/** Tests of bodies with a size limit. @module */

import assert from "node:assert/strict";
import { readBytes, readJson, readText } from "core/net/bounded_body.ts";
import { err, ok } from "core/result.ts";

interface Source {
  readonly body: ReadableStream<Uint8Array>;
  readonly wasCancelled: () => boolean;
}

/** Returns a body of these chunks, which then ends, fails or stays open. */
function source(
  chunks: readonly (readonly number[])[],
  end: "ends" | "fails" | "continues",
): Source {
  const waiting = chunks.map((chunk) => Uint8Array.from(chunk));
  let wasCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const chunk = waiting.shift();
      if (chunk !== undefined) controller.enqueue(chunk);
      else if (end === "ends") controller.close();
      else if (end === "fails") controller.error(new Error("the peer is gone"));
    },
    cancel: () => void (wasCancelled = true),
  }, { highWaterMark: 0 });
  return { body, wasCancelled: () => wasCancelled };
}

Deno.test("readBytes() returns a body up to its bound, and none as no bytes", async () => {
  assert.deepEqual(
    await readBytes(source([[1, 2], [], [3]], "ends").body, 3),
    ok(Uint8Array.of(1, 2, 3)),
  );
  assert.deepEqual(await readBytes(null, 0), ok(new Uint8Array()));
});

Deno.test("readBytes() refuses the first byte too many and cancels the rest", async () => {
  const { body, wasCancelled } = source([[1, 2], [3, 4]], "continues");
  assert.deepEqual(await readBytes(body, 3), err("too-large"));
  assert.ok(wasCancelled());
});

Deno.test("readBytes() throws the error that broke the body", async () => {
  await assert.rejects(readBytes(source([[1]], "fails").body, 3), /the peer is gone/);
});

Deno.test("readText() decodes characters that two chunks share", async () => {
  const [a = 0, b = 0, c = 0] = new TextEncoder().encode("€");
  assert.deepEqual(await readText(source([[a], [b, c]], "ends").body, 3), ok("€"));
  assert.deepEqual(await readText(source([[a], [b]], "ends").body, 3), ok("\ufffd"));
  const strict = new TextDecoder("utf-8", { fatal: true });
  await assert.rejects(readText(source([[a], [b]], "ends").body, 3, strict), TypeError);
  assert.deepEqual(await readText(source([[a], [b, c]], "ends").body, 2), err("too-large"));
});

Deno.test("readJson() distinguishes a too large body from invalid JSON", async () => {
  assert.deepEqual(await readJson(new Response("[1]").body, 3), ok([1]));
  assert.deepEqual(await readJson(new Response("[12]").body, 3), err("too-large"));
  assert.deepEqual(await readJson(new Response("[1").body, 3), err("malformed"));
  assert.deepEqual(await readJson(null, 3), err("malformed"));
});
