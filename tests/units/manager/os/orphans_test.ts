/**
 * Clients that connect and disconnect in every possible way. After each round no server remains,
 * nor its child processes, nor a descriptor. 96 rounds by default; FLEETCTL_ROUNDS overrides it.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  connect,
  descriptorCount,
  ended,
  hangUp,
  leakless,
  processesOf,
  read,
  shell,
  startRig,
} from "tests/units/manager/os/rig.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 96);
/** Concurrent clients. */
const WIDE = 8;

leakless(`no server is left of ${ROUNDS} clients that come and are killed`, async () => {
  await using rig = await startRig();
  await rig.write({
    "e.socket": `[Socket]\nListenStream=${rig.root}/run/mcp/e.sock\nSocketMode=0600\nAccept=yes\n` +
      `MaxConnections=${WIDE * 4}\n`,
    // The server has a child process, like servers that start programs.
    "e@.service": `${
      shell("sleep 1000 & echo up; exec cat", "TimeoutStopSec=2s")
    }StandardInput=socket\n`,
  });
  await rig.manager.start("e.socket");
  const path = rig.path("run/mcp/e.sock");
  let before = 0;
  for (let round = 0; round < ROUNDS; round += WIDE) {
    await Promise.all(Array.from({ length: WIDE }, async (_, index) => {
      const client = await connect(path);
      // A third disconnects before the server sends anything, a third after that, and a third in
      // the middle of a message.
      if (index % 3 > 0) await read(client, 3);
      if (index % 3 === 2) client.write("half a mess");
      if (index % 2 === 0) client.destroy();
      else {
        client.end();
        await ended(client);
      }
      await hangUp(client);
    }));
    if (round === 0) before = await descriptorCount();
  }
  await waitUntilNone(rig);
  assert.deepEqual(processesOf(rig.paths), []);
  assert.ok(await descriptorCount() <= before + WIDE, "descriptors grew");
});

async function waitUntilNone(rig: { readonly paths: Parameters<typeof processesOf>[0] }) {
  const limit = AbortSignal.timeout(60_000);
  while (processesOf(rig.paths).length > 0 && !limit.aborted) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
