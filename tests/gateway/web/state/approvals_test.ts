/**
 * Selects the running calls that wait for their owner, and formats the time left to decide.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  type ApprovalItem,
  expiryWords,
  parseApprovals,
  type RunningCall,
  waitingKeys,
} from "gateway/web/state/approvals.ts";

function asked(id: string, given: object, more: object = {}): ApprovalItem {
  const approvals = [{ approval_id: id, digest: id, tool: "push", mcp: "git", arguments: given }];
  const [item] = parseApprovals({ approvals });
  assert.ok(item);
  return { ...item, ...more };
}
const call = (key: string, given: unknown, more: object = {}): RunningCall => ({
  key,
  mcp: "git",
  tool: "push",
  arguments: given,
  ...more,
});
const BOTH = [call("1", { to: "a", n: 1 }), call("2", { to: "b", n: 1 })];

const ROWS: readonly [string, readonly RunningCall[], readonly ApprovalItem[], string][] = [
  ["nothing without an approval", BOTH, [], ""],
  ["the one with its arguments, in any order of keys", BOTH, [asked("x", { n: 1, to: "a" })], "1"],
  ["both", BOTH, [asked("x", { to: "a", n: 1 }), asked("y", { to: "b", n: 1 })], "1 2"],
  [
    "none that is already decided",
    BOTH,
    [asked("x", { to: "a", n: 1 }, { decision: "denied" })],
    "",
  ],
  ["the newest of its tool, where no call has its arguments", BOTH, [asked("x", {})], "2"],
  ["one of two equal calls", [call("1", {}), call("2", {})], [asked("x", {})], "2"],
  ["none of another MCP", [call("1", {}, { mcp: "hg" })], [asked("x", {})], ""],
  ["one of the runtime", [call("1", {}, { mcp: null })], [asked("x", {}, { mcp: "" })], "1"],
  [
    "the one with the arguments, and the other for the question without them",
    BOTH,
    [asked("x", { cut: true }), asked("y", { to: "b", n: 1 })],
    "1 2",
  ],
];
for (const [name, calls, items, want] of ROWS) {
  Deno.test(`waitingKeys() finds ${name}`, () => {
    assert.equal([...waitingKeys(calls, items)].sort().join(" "), want);
  });
}

Deno.test("expiryWords() uses the largest unit of which at least two are left", () => {
  const rows: readonly (readonly [seconds: number, words: string])[] = [
    [0, "expired"],
    [119, "expires in 119 s"],
    [120, "expires in 2 min"],
    [12 * 60, "expires in 12 min"],
    [8 * 3_600, "expires in 8 h"],
    [24 * 3_600, "expires in 24 h"],
    [30 * 86_400, "expires in 30 days"],
  ];
  for (const [seconds, words] of rows) assert.equal(expiryWords(seconds * 1_000, 0), words);
});
