/**
 * The manager needs only its own root, libc, and the programs of its units.
 *
 * @module
 */

import assert from "node:assert/strict";
import { LIBC_PATHS } from "core/os/libc.ts";
import { ENABLED, startManagerProcess, writeEnabled } from "tests/units/manager/os/held_root.ts";
import {
  connect,
  hangUp,
  leakless,
  makeRoot,
  processesOf,
  read,
} from "tests/units/manager/os/rig.ts";
import { TREE } from "tests/support/module_graph.ts";

async function enabledRoot() {
  const made = await makeRoot();
  await writeEnabled(made.paths, {
    "a.service": `[Service]\nExecStart=/bin/sleep 1000\n${ENABLED}`,
    "e.socket": `[Socket]\nListenStream=${made.root}/run/mcp/e.sock\nAccept=yes\n${ENABLED}`,
    "e@.service": "[Service]\nExecStart=/bin/cat\nStandardInput=socket\n",
  });
  return made;
}

function narrow(root: string, state: string): readonly string[] {
  return [
    `--allow-read=${root},${TREE}`,
    `--allow-write=${root}`,
    `--allow-net=unix:${root}/run/fleetctl/manager.sock,unix:${state}/listen`,
    `--allow-ffi=${LIBC_PATHS[Deno.build.arch]}`,
    "--allow-env=NODE_V8_COVERAGE",
    "--allow-sys=uid",
    "--allow-run=/bin/sleep,/bin/cat",
  ];
}

leakless("the manager runs units and sockets with a narrow permission set", async () => {
  const { root, paths } = await enabledRoot();
  const manager = await startManagerProcess(root, narrow(root, paths.managerState));
  assert.equal(manager.lines.at(-1), "up");
  const client = await connect(`${root}/run/mcp/e.sock`);
  client.write("hello");
  assert.equal(await read(client, 5), "hello");
  await hangUp(client);
  manager.signal("SIGINT");
  assert.equal((await manager.ended()).code, 0);
  assert.deepEqual(processesOf(paths), []);
  await Deno.remove(root, { recursive: true });
});

leakless("the manager does not come up with less", async () => {
  const { root, paths } = await enabledRoot();
  const all = narrow(root, paths.managerState);
  // Without the last permission, the programs, the manager starts but its units do not.
  for (const left of all.slice(0, -1)) {
    const manager = await startManagerProcess(root, all.filter((flag) => flag !== left));
    const isUp = manager.lines.includes("ready a.service") && manager.lines.includes("up") &&
      manager.lines.includes("ready e.socket");
    if (manager.lines.includes("up")) manager.signal("SIGINT");
    await manager.ended();
    assert(!isUp, `came up without ${left}`);
  }
  await Deno.remove(root, { recursive: true });
});
