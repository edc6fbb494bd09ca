/**
 * Who may enroll which key for which agents or hosts; `tests/scripts/agents_key.txtar` runs the
 * verbs themselves.
 *
 * @module
 */

import assert from "node:assert/strict";
import { isFirstOnly, keysAfterEnroll } from "cli/verbs/agents/key/enroll.ts";
import { ADMIN, agentNamed, GATEWAY, OPERATOR } from "tests/core/verbs/callers.ts";

const FULL = Array.from({ length: 16 }, (_, at) => String.fromCharCode(65 + at).repeat(43));
const KEY = "z".repeat(43);
const OTHER = "y".repeat(43);

const ROWS: readonly {
  readonly keys: readonly string[] | undefined;
  readonly isFirst: boolean;
  readonly want: readonly string[] | string;
}[] = [
  { keys: undefined, isFirst: true, want: [KEY] },
  { keys: undefined, isFirst: false, want: [KEY] },
  { keys: [KEY], isFirst: true, want: [KEY] },
  { keys: [OTHER, KEY], isFirst: false, want: [OTHER, KEY] },
  { keys: [OTHER], isFirst: false, want: [OTHER, KEY] },
  { keys: [], isFirst: false, want: [KEY] },
  { keys: [OTHER], isFirst: true, want: "dial-key-not-first" },
  { keys: [], isFirst: true, want: "dial-key-not-first" },
  { keys: FULL, isFirst: false, want: "dial-keys-full" },
];
for (const { keys, isFirst, want } of ROWS) {
  const name = keys === undefined ? "no keys ever" : `${keys.length} keys`;
  Deno.test(`keysAfterEnroll() of ${name}, ${isFirst ? "as first" : "as one more"}`, () => {
    const after = keysAfterEnroll({ name: agentNamed("ada"), key: KEY, isFirst }, keys);
    assert.deepEqual(after.ok ? after.value : after.error.code, want);
  });
}

Deno.test("isFirstOnly() restricts the gateway to first keys, and no other caller", () => {
  assert.deepEqual([OPERATOR, ADMIN, GATEWAY].map(isFirstOnly), [false, false, true]);
});
