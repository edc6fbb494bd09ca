/**
 * Worktrees of conversations on a host: the dial unit runs git and the set-up script in its
 * sandbox, and root restores a snapshot with the printed command (docs/workspaces.md).
 *
 * @module
 */

import assert from "node:assert/strict";
import type { DaemonScene } from "tests/system/daemon/scene.ts";

const WORKSPACE = "/home/wes/workspace";
const WORKTREES = `${WORKSPACE}/.fleetctl/worktrees`;
const MAKE_REPOSITORY = `set -e; cd ${WORKSPACE}; git init -q
  echo 'echo "$FLEETCTL_CONVERSATION" > ready.txt' > setup.sh; git add setup.sh
  git -c user.name=A -c user.email=a@example.org commit -q -m first`;

async function write(scene: DaemonScene, conversation: string): Promise<void> {
  const call = `call bash ${JSON.stringify({ command: `echo ${conversation} > note.txt` })}`;
  const words = ["fleetctl", "turn", "wes", "--conversation", conversation, call];
  const ended = await scene.run(words);
  assert.equal(ended.code, 0, ended.out + ended.err);
}

const remove = (agent: string, conversation: string) => [
  "fleetctl",
  "conversations",
  "remove",
  agent,
  conversation,
];

/** Two conversations write the same file; each is removed, and one is restored. */
export async function worktrees(scene: DaemonScene): Promise<void> {
  const read = (path: string) => scene.must("cat", path);
  const add = "agents add wes --channel messenger --worktrees yes --setup setup.sh --ask never";
  await scene.must("fleetctl", ...add.split(" "));
  await scene.must("runuser", "-u", "wes", "--", "sh", "-c", MAKE_REPOSITORY);
  await write(scene, "red");
  await write(scene, "blue");
  for (const name of ["red", "blue"]) {
    assert.equal(await read(`${WORKTREES}/${name}/note.txt`), `${name}\n`);
    assert.equal(await read(`${WORKTREES}/${name}/ready.txt`), `${name}\n`, "the set-up script");
  }
  assert.equal((await scene.run(["test", "-e", `${WORKSPACE}/note.txt`])).code, 1);
  const listed = await scene.must("fleetctl", "conversations", "list", "wes");
  for (const name of ["red", "blue"]) assert.match(listed, new RegExp(`fleetctl/${name}$`, "m"));
  // Others' agents have no right, the agent itself and root do.
  assert.equal((await scene.run(remove("wes", "red"), { user: "bob" })).code, 4);
  const own = await scene.run(remove("self", "blue"), { user: "wes" });
  assert.equal(own.code, 0, own.err);
  const removed = await scene.must(...remove("wes", "red"));
  assert.equal((await scene.run(["test", "-e", `${WORKTREES}/red`])).code, 1);
  const restore = /^to restore them: (.*)$/m.exec(removed)?.[1] ?? removed;
  await scene.must("sh", "-c", restore);
  assert.equal(await read(`${WORKTREES}/red/note.txt`), "red\n");
  await write(scene, "red");
  await scene.must("fleetctl", "agents", "remove", "wes", "--yes");
}
