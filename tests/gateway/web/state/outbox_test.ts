/**
 * The outbox: what is sent when, and how a response changes a message's state.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  answered,
  answerOf,
  nextToSend,
  type OutboxItem,
  revived,
  shownKeys,
} from "gateway/web/state/outbox.ts";

function item(key: string, more: Partial<OutboxItem> = {}): OutboxItem {
  return {
    key,
    agent: "ada",
    text: key,
    createdAt: key.charCodeAt(0),
    state: "queued",
    turnId: undefined,
    reason: undefined,
    ...more,
  } as OutboxItem;
}

Deno.test("nextToSend() keeps the order of an agent; agents do not wait for others", () => {
  assert.equal(nextToSend([item("b"), item("a")])?.key, "a");
  assert.equal(nextToSend([item("a", { state: "sending" }), item("b")]), undefined);
  assert.equal(nextToSend([item("a", { state: "refused" }), item("b")]), undefined);
  const other = item("c", { agent: "bob" });
  assert.equal(nextToSend([item("a", { state: "sending" }), item("b"), other])?.key, "c");
  assert.equal(nextToSend([item("a", { state: "sent" }), item("b")])?.key, "b");
  assert.equal(nextToSend([item("a", { state: "unconfirmed" }), item("b")])?.key, "a");
});

Deno.test("answerOf() distinguishes a refusal from silence and from an ended session", () => {
  const body = { turnId: "", code: "", detail: "why" };
  const rows: readonly [number, Partial<typeof body>, string][] = [
    [202, { turnId: "t" }, "accepted"],
    [202, {}, "unknown"],
    [400, {}, "refused"],
    [403, { code: "agent-denied" }, "refused"],
    [403, { code: "viewer-denied" }, "later"],
    [409, { code: "turn-key-reused" }, "refused"],
    [409, { code: "viewer-changed" }, "later"],
    [0, {}, "later"],
    [401, {}, "later"],
    [429, {}, "later"],
    [500, {}, "unknown"],
    [502, {}, "unknown"],
    [503, {}, "later"],
    [507, {}, "later"],
  ];
  for (const [status, more, kind] of rows) {
    assert.equal(answerOf(status, { ...body, ...more }).kind, kind, `${status} ${more.code}`);
  }
});

Deno.test("answered() never forgets that a message may have arrived", () => {
  const maybe = item("a", { state: "unconfirmed" });
  assert.equal(answered(maybe, { kind: "later" }).state, "unconfirmed");
  assert.equal(answered(item("a"), { kind: "later" }).state, "queued");
  assert.equal(answered(item("a"), { kind: "unknown" }).state, "unconfirmed");
  const sent = answered(maybe, { kind: "accepted", turnId: "t" });
  assert.deepEqual(shownKeys([sent], new Set(["t"])), ["a"]);
  assert.deepEqual(shownKeys([maybe], new Set(["t"])), []);
});

Deno.test("revived() marks messages in flight as unconfirmed, under the same key", () => {
  for (const state of ["sending", "sent", "unconfirmed"] as const) {
    assert.deepEqual(revived(item("a", { state })), item("a", { state: "unconfirmed" }));
  }
  assert.equal(revived(item("a"))?.state, "queued");
  for (const broken of [undefined, null, 3, {}, { key: "a" }, { key: "a", agent: "b", text: 1 }]) {
    assert.equal(revived(broken), undefined);
  }
});
