/**
 * Which process listens on a port: from the kernel's tables, and from the kernel itself.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseListener, parseUnit, portHolder } from "cli/status/port_holder.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemUsers } from "core/os/users.ts";

const TABLE =
  `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:221F 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 11 1 0 20
   1: 0100007F:221F 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 22 1 0 99
`;

Deno.test("the listener of a port is found, not its connections", () => {
  assert.deepEqual(parseListener(TABLE, 8735), { uid: 1001, inode: 22 });
  assert.equal(parseListener(TABLE, 8731), undefined);
});

Deno.test("a program of a service is distinguished from one of a login session", () => {
  assert.equal(parseUnit("12:pids:/x\n1:name=systemd:/system.slice/a.service\n"), "a.service");
  assert.equal(parseUnit("9:name=systemd:/\n0::/system.slice/nginx.service\n"), "nginx.service");
  assert.equal(parseUnit("0::/user.slice/user-0.slice/session-1.scope\n"), undefined);
  assert.equal(
    parseUnit("0::/user.slice/user-1.slice/user@1.service/session.slice/x.scope\n"),
    undefined,
  );
});

Deno.test("the kernel names this process as the holder of its own port", async () => {
  const processes = systemProcesses();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  try {
    const holder = await portHolder(
      { processes, users: systemUsers(processes) },
      listener.addr.port,
    );
    assert.equal(holder?.process?.pid, Deno.pid);
  } finally {
    listener.close();
  }
});
