/**
 * Which unix sockets are listening, from the kernel's table and from the kernel itself.
 *
 * @module
 */

import assert from "node:assert/strict";
import { systemProcesses } from "core/os/processes.ts";
import { parseUnixListeners, readUnixListeners } from "units/manager/os/unix_listeners.ts";

const TABLE = `Num       RefCount Protocol Flags    Type St Inode Path
00000000a775e3a8: 00000003 00000000 00000000 0001 03 96331
000000008e89031f: 00000002 00000000 00010000 0001 01 110046 /run/mcp/git-ada.sock
000000008e890320: 00000002 00000000 00010000 0001 01 110050 /run/mcp/git-ada.sock
000000004de2deb8: 00000003 00000000 00000000 0001 03 98753 /run/fleetctl/fleetctl.sock
000000004de2deb9: 00000002 00000000 00010000 0001 01 98754 /srv/with blank/a.sock
000000004de2deba: 00000002 00000000 00010000 0001 01 98755 @/abstract
`;

Deno.test("only sockets that listen on a path count, each one separately", () => {
  assert.deepEqual([...parseUnixListeners(TABLE)], [
    ["/run/mcp/git-ada.sock", 2],
    ["/srv/with blank/a.sock", 1],
  ]);
  assert.equal(parseUnixListeners("no table").size, 0);
});

Deno.test("a removed file does not end its listener", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/a.sock`;
  const listener = Deno.listen({ transport: "unix", path });
  await Deno.remove(path);
  const found = await readUnixListeners(systemProcesses());
  listener.close();
  const after = await readUnixListeners(systemProcesses());
  await Deno.remove(folder, { recursive: true });
  assert.equal(found?.get(path), 1);
  assert.equal(after?.get(path), undefined);
});

Deno.test("abstract names can imitate any path, so a count above one proves nothing", () => {
  const forged = "00000000a775e3a9: 00000002 00000000 00010000 0001 01 7 @\n" +
    "0: 2 0 00010000 1 1 1 /run/mcp/git-ada.sock\n";
  assert.equal(parseUnixListeners(TABLE + forged).get("/run/mcp/git-ada.sock"), 3);
});
