/** Which commit of the store last changed a secret. @module */

import assert from "node:assert/strict";
import type { AgentName, KeyName } from "core/names.ts";
import { lastChanges } from "core/secrets/changes.ts";

const HOST_OP = ["FLEETCTL_HOST_OP_SECRET", "FLEETCTL_HOST_OP_GRANT_SECRET"];
const MADE = 'secret init: secrets of host "atlas"';
const SET = "secret set: FLEETCTL_HOST_OP_SECRET in the shared shard";
const ROTATED = "secret rotate: the host-op keys";

/** Returns the subject of the last change of a secret, in a history from new to old. */
function changeOf(newestFirst: readonly string[], key: string, agent?: string): string | undefined {
  const entries = newestFirst.map((subject, at) => ({
    commit: String(at),
    when: 1000 - at,
    verb: undefined,
    caller: "root",
    subject,
    files: [],
  }));
  const ref = { key: key as KeyName, agent: agent as AgentName | undefined };
  return lastChanges(entries)(ref)?.subject;
}

for (
  const [what, newestFirst, wanted] of [
    ["a rotation after a set", [ROTATED, SET, MADE], [ROTATED, ROTATED]],
    ["a set after a rotation", [SET, ROTATED, MADE], [SET, ROTATED]],
    ["a set", [SET, MADE], [SET, MADE]],
    ["a rotation", [ROTATED, MADE], [ROTATED, ROTATED]],
    ["the new store", [MADE], [MADE, MADE]],
    ["no commit", [], [undefined, undefined]],
  ] as const
) {
  Deno.test(`dates the host-op keys by ${what}`, () => {
    assert.deepEqual(HOST_OP.map((key) => changeOf(newestFirst, key)), wanted);
  });
}

Deno.test("dates a key by its newest change in its shard", () => {
  const shared = "secret set: API_KEY in the shared shard";
  const own = 'secret unset: API_KEY of agent "ada"';
  const history = [own, shared, "secret set: OTHER_KEY in the shared shard", MADE];
  assert.equal(changeOf(history, "API_KEY"), shared);
  assert.equal(changeOf(history, "API_KEY", "ada"), own);
  assert.equal(changeOf(history, "API_KEY", "bob"), undefined);
  assert.equal(changeOf(history, "WEBVIEW_HMAC_KEY"), MADE);
  assert.equal(changeOf(history, "WEBVIEW_HMAC_KEY", "ada"), undefined);
  assert.equal(changeOf(history, "UNKNOWN_KEY"), undefined);
});
