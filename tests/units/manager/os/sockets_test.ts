/**
 * Accept=yes sockets: one server for each connection, which leaves nothing behind.
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
  type Rig,
  shell,
  startRig,
} from "tests/units/manager/os/rig.ts";

function socketUnit(root: string, more = ""): string {
  return `[Socket]\nListenStream=${root}/run/mcp/e.sock\nSocketMode=0600\nAccept=yes\n${more}`;
}

async function startEcho(server = "[Service]\nExecStart=/bin/cat\n", more = ""): Promise<Rig> {
  const rig = await startRig();
  await rig.write({
    "e.socket": socketUnit(rig.root, more),
    "e@.service": `${server}StandardInput=socket\n`,
  });
  await rig.manager.start("e.socket");
  return rig;
}

leakless("a socket has its mode, and its server echoes for 60 clients at once", async () => {
  await using rig = await startEcho();
  const path = rig.path("run/mcp/e.sock");
  assert.equal((await Deno.lstat(path)).mode! & 0o777, 0o600);
  await Promise.all(Array.from({ length: 60 }, async (_, index) => {
    const client = await connect(path);
    for (const round of [1, 2, 3]) {
      const text = `client ${index} round ${round}\n`;
      client.write(text);
      assert.equal(await read(client, text.length), text);
    }
    client.end();
    await ended(client);
    await hangUp(client);
  }));
});

leakless("an instance is named by number, pid and uid of its peer and ends with it", async () => {
  await using rig = await startEcho();
  const client = await connect(rig.path("run/mcp/e.sock"));
  client.write("x");
  await read(client, 1);
  const unit = `e@0-${Deno.pid}-${Deno.uid()}.service`;
  const [status] = await rig.manager.status([unit]);
  assert.equal(status?.active, "active");
  await hangUp(client);
  await rig.next("exited", unit);
  assert.equal((await rig.manager.status([unit]))[0]?.active, "inactive");
  assert.deepEqual(processesOf(rig.paths), []);
});

leakless("a client sees the end when its server is killed", async () => {
  await using rig = await startEcho();
  const client = await connect(rig.path("run/mcp/e.sock"));
  client.write("x");
  await read(client, 1);
  const [status] = await rig.manager.status([`e@0-${Deno.pid}-${Deno.uid()}.service`]);
  Deno.kill(status?.mainPid ?? 0, "SIGKILL");
  await ended(client);
  await hangUp(client);
  const event = await rig.until((one) => one.kind === "failed");
  assert.equal(event.reason, "signal SIGKILL");
});

leakless("a server that stays after its client disconnected is killed", async () => {
  await using rig = await startEcho(
    shell("trap '' TERM; echo up; while :; do sleep 1000; done", "TimeoutStopSec=50ms"),
  );
  const client = await connect(rig.path("run/mcp/e.sock"));
  await read(client, 3);
  await hangUp(client);
  const event = await rig.until((one) => one.kind === "failed");
  assert.equal(event.reason, "signal SIGKILL");
  assert.deepEqual(processesOf(rig.paths), []);
});

leakless("a connection past MaxConnections is closed and the others continue", async () => {
  await using rig = await startEcho(undefined, "MaxConnections=2\n");
  const path = rig.path("run/mcp/e.sock");
  const clients = [await connect(path), await connect(path)];
  for (const client of clients) {
    client.write("x");
    await read(client, 1);
  }
  const third = await connect(path);
  await ended(third);
  await hangUp(third);
  for (const client of clients) {
    client.write("y");
    assert.equal(await read(client, 1), "y");
    await hangUp(client);
  }
});

leakless("stopping a socket ends its servers and removes it", async () => {
  await using rig = await startEcho();
  const path = rig.path("run/mcp/e.sock");
  const client = await connect(path);
  client.write("x");
  await read(client, 1);
  await rig.manager.stop("e.socket");
  await ended(client);
  await hangUp(client);
  await assert.rejects(Deno.lstat(path), Deno.errors.NotFound);
  assert.deepEqual(processesOf(rig.paths), []);
});

leakless("a server that cannot be started closes its connection and says why", async () => {
  await using rig = await startEcho("[Service]\nExecStart=/no/such/program\n");
  const client = await connect(rig.path("run/mcp/e.sock"));
  await ended(client);
  await hangUp(client);
  const event = await rig.until((one) => one.kind === "failed");
  assert.match(event.reason ?? "", /Cannot start "\/no\/such\/program": no such program/);
});

leakless("500 connections leave neither process nor descriptor", async () => {
  await using rig = await startEcho();
  const path = rig.path("run/mcp/e.sock");
  const cycle = async (index: number) => {
    const client = await connect(path);
    client.write("x");
    await read(client, 1);
    if (index % 2 === 0) {
      const unit = rig.events.filter((event) => event.kind === "ready").at(-1);
      if (unit?.pid !== undefined) Deno.kill(unit.pid, "SIGKILL");
    }
    await hangUp(client);
  };
  const finished = () =>
    rig.events.filter((event) =>
      event.unit.startsWith("e@") && ["exited", "failed"].includes(event.kind)
    ).length;
  // The first failing server opens the log.
  await cycle(0);
  await rig.until(() => finished() === 1);
  const before = descriptorCount();
  for (let index = 0; index < 500; index++) await cycle(index);
  await rig.until(() => finished() === 501);
  assert.deepEqual(processesOf(rig.paths), []);
  assert(descriptorCount() <= before, `${descriptorCount()} descriptors, were ${before}`);
});
