/**
 * @module
 */

import assert from "node:assert/strict";
import { systemProcesses } from "core/os/processes.ts";
import { systemUsers } from "core/os/users.ts";

const users = systemUsers(systemProcesses());

Deno.test("systemUsers() finds accounts by name and by uid", async () => {
  const root = { name: "root", uid: 0, gid: 0, home: "/root" };
  assert.deepEqual(await users.byName("root"), root);
  assert.deepEqual(await users.byUid(0), root);
  assert.equal(await users.groupId("root"), 0);
});

Deno.test("systemUsers() returns the effective uid", () => {
  assert.equal(users.currentUid(), Deno.uid());
});

Deno.test("systemUsers() returns undefined for unknown accounts", async () => {
  for (const name of ["no-such-user-here", "", "--help", "a:b", "root:x", "root:x:0", "0", "oot"]) {
    assert.equal(await users.byName(name), undefined, name);
    assert.equal(await users.groupId(name), undefined, name);
  }
  assert.equal(await users.byUid(4_000_000_000), undefined);
});
