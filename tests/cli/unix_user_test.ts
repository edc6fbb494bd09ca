/**
 * An agent's name is never an account of the system.
 *
 * @module
 */

import assert from "node:assert/strict";
import { checkUnixUser } from "cli/unix_user.ts";
import type { VerbContext } from "cli/context.ts";
import type { AgentName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";

function context(root: string, uid: number | undefined): VerbContext {
  const byName = (name: string) =>
    Promise.resolve(uid === undefined ? undefined : { name, uid, gid: uid, home: "/nowhere" });
  return {
    paths: pathsUnder(root),
    ports: { users: { byName } },
  } as unknown as VerbContext;
}

Deno.test("checkUnixUser() refuses a system account under /, and nothing elsewhere", async () => {
  const name = "mail" as AgentName;
  const taken = await checkUnixUser(context("/", 8), name);
  assert.ok(!taken.ok);
  assert.equal(taken.error.code, "user-taken");
  assert.match(taken.error.message, /its uid is 8, must be 1000 or more/);
  assert.ok((await checkUnixUser(context("/", 1000), name)).ok);
  assert.ok((await checkUnixUser(context("/", undefined), name)).ok);
  assert.ok((await checkUnixUser(context("/tmp/root", 8), name)).ok);
});
