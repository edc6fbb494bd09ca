/**
 * The store of the login proxy: what a rotation does to a reference that is not there to be used.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type LoginStore, openLoginStore, type RefreshRow } from "core/login_store.ts";
import { memoryHost } from "tests/fakes/host.ts";

const row = (digest: string): RefreshRow => ({
  digest,
  family: "family",
  principal: "ada@example.org",
  sealed: "sealed",
  expires: 100,
  isUsed: false,
});

const ROTATIONS: readonly (readonly [string, (store: LoginStore) => unknown, boolean])[] = [
  ["nothing", () => {}, true],
  ["another rotation", ({ refreshes }) => refreshes.rotate("first", row("other")), false],
  ["the end of its family", ({ refreshes }) => refreshes.endFamily("family"), false],
  ["the end of its principal's sessions", (store) => store.endAll("ada@example.org"), false],
  ["its expiry", (store) => store.sweep(100), false],
];

for (const [name, before, isRotated] of ROTATIONS) {
  Deno.test(`rotate() after ${name} ${isRotated ? "makes" : "makes no"} successor`, async () => {
    const store = await openLoginStore(memoryHost().databases, "/r/login.db");
    store.refreshes.add(row("first"));
    before(store);
    assert.deepEqual(store.refreshes.rotate("first", row("next")), { ok: true, value: isRotated });
    assert.equal(store.refreshes.find("next") !== undefined, isRotated);
    store.close();
  });
}
