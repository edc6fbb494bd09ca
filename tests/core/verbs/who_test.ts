/**
 * Resolves a uid to a caller, from the root folder, the accounts and the ledger.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { whoIs } from "core/verbs/who.ts";
import { memoryHost } from "tests/fakes/host.ts";

const USERS = [
  { name: "ada", uid: 1002, gid: 1002, home: "/home/ada" },
  { name: "zoe", uid: 1001, gid: 1001, home: "/home/zoe" },
  { name: "bad", uid: 1003, gid: 1003, home: "/home/bad" },
  { name: "fleetctl-gateway", uid: 990, gid: 990, home: "/var/lib/fleetctl/gateway" },
  { name: "mallory", uid: 1009, gid: 1009, home: "/home/mallory" },
];

async function who(uid: number, root: string, as?: string): Promise<string> {
  const paths = pathsUnder(root);
  const host = memoryHost({ users: { users: USERS } });
  await host.files.ensureDir("/srv", { uid: 1009 });
  await host.files.ensureDir(paths.agentsDir);
  if (root === "/srv/here") await host.files.ensureDir(root, { uid: 1002 });
  if (root === "/srv/missing") await host.files.remove(root, { recursive: true });
  if (root !== "/srv/missing") {
    for (
      const [name, more] of [["ada", ""], ["zoe", "admin: true\n"], [
        "bad",
        "admin: true\ntools: [\n",
      ]]
    ) {
      await host.files.write(
        paths.agentShard(name ?? ""),
        `name: ${name}\nchannel: webview\nruntime: runtime-b\n${more}`,
      );
    }
  }
  const got = await whoIs(host, paths, { uid, as });
  if (!got.ok) return got.error.code;
  return "agent" in got.value ? `${got.value.kind} ${got.value.agent}` : got.value.kind;
}

const ROWS: readonly [
  name: string,
  uid: number,
  root: string,
  as: string | undefined,
  want: string,
][] = [
  ["root", 0, "/", undefined, "operator"],
  ["an agent's user", 1002, "/", undefined, "agent ada"],
  ["an admin's user", 1001, "/", undefined, "admin zoe"],
  ["the user of an admin whose shard is broken", 1003, "/", undefined, "other"],
  ["the gateway's user", 990, "/", undefined, "gateway"],
  ["the gateway's user as an agent", 990, "/", "ada", "act-as-denied"],
  ["the gateway's user at another user's root folder", 990, "/srv/here", undefined, "other"],
  ["another user", 1009, "/", undefined, "other"],
  ["a uid without an account", 4242, "/", undefined, "other"],
  ["the owner of a root folder", 1002, "/srv/here", undefined, "operator"],
  ["an agent's user at another user's root folder", 1001, "/srv/here", undefined, "other"],
  ["the owner of the folder a new root goes into", 1009, "/srv/missing", undefined, "operator"],
  ["another user at a new root", 1002, "/srv/missing", undefined, "other"],
  ["root as an agent", 0, "/", "ada", "agent ada"],
  ["root as an admin", 0, "/", "zoe", "admin zoe"],
  ["root as an unknown agent", 0, "/", "eve", "agent-unknown"],
  ["root as an agent whose shard is broken", 0, "/", "bad", "shard-invalid"],
  ["an admin as an agent", 1001, "/", "ada", "agent ada"],
  ["an agent as itself", 1002, "/", "ada", "agent ada"],
  ["an agent as another", 1002, "/", "zoe", "act-as-denied"],
  ["an agent as an unknown agent, with no further detail", 1002, "/", "eve", "act-as-denied"],
  ["an unknown user as an agent", 1009, "/", "ada", "act-as-denied"],
  ["the owner of a root as its agent", 1002, "/srv/here", "ada", "agent ada"],
];

for (const [name, uid, root, as, want] of ROWS) {
  Deno.test(`whoIs() answers ${want} for ${name}`, async () => {
    assert.equal(await who(uid, root, as), want);
  });
}
