/** Tests of answers with a size limit. @module */

import assert from "node:assert/strict";
import { boundAnswer } from "core/net/bounded_answer.ts";

function answer(text: string, type: string): Response {
  return boundAnswer(new Response(text, { status: 201, headers: { "content-type": type } }), 8);
}

Deno.test("boundAnswer() passes a short answer on unchanged", async () => {
  const passed = answer("12345678", "application/json");
  assert.equal(passed.status, 201);
  assert.equal(passed.headers.get("content-type"), "application/json");
  assert.equal(await passed.text(), "12345678");
  const empty = new Response(null, { status: 204 });
  assert.equal(boundAnswer(empty, 8), empty);
});

Deno.test("boundAnswer() fails the body of a longer one", async () => {
  await assert.rejects(answer("123456789", "application/json").text(), /more than 8 bytes/);
});

Deno.test("boundAnswer() limits each event of a stream separately", async () => {
  const events = "data:1\n\ndata:2\r\n\r\ndata:3\n\n";
  assert.equal(await answer(events, "text/event-stream").text(), events);
  await assert.rejects(answer(`${events}data:456\n\n`, "text/event-stream").text(), /8 bytes/);
});
