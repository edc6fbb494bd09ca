/** The control socket, from the client's call to the manager's answer. @module */

import assert from "node:assert/strict";
import { ServiceFault } from "units/manager/service_manager.ts";
import { embeddedServices } from "units/manager/control/client.ts";
import { CONTROL_LIMITS, parseAnswer, parseRequest } from "units/manager/control/control_frames.ts";
import { serveControl } from "units/manager/control/control_server.ts";
import {
  clock,
  connect,
  ended,
  hangUp,
  leakless,
  makeRoot,
  quiet,
  read,
  READY_LINE,
  shell,
  sockets,
  startRig,
} from "tests/units/manager/os/rig.ts";

leakless(
  "embeddedServices() behaves like the manager, with its faults and journals",
  async () => {
    await using rig = await startRig({
      // `start` returns when the manager has read the ready line, so it has read "hello" too.
      "a.service": shell(
        `echo hello >&2; ${READY_LINE}; exec sleep 1000`,
        "X-FleetctlReady=log",
      ) + "[Install]\nWantedBy=multi-user.target\n",
      "bad.service": shell("echo why >&2; exit 4", "X-FleetctlReady=log"),
    });
    const client = embeddedServices(rig.paths, sockets);
    assert.equal((await Deno.lstat(rig.paths.managerSocket)).mode! & 0o777, 0o600);
    assert.equal(await client.isRunning(), true);
    await client.start("a.service");
    await client.restart("a.service");
    assert.deepEqual(await client.each("enable", ["a.service"]), []);
    assert.deepEqual(await client.each("disable", ["a.service"]), []);
    assert.equal((await client.status(["a.service"]))[0]?.active, "active");
    assert.deepEqual((await client.status([])).map((one) => one.unit), [
      "a.service",
      "bad.service",
    ]);
    assert.ok((await client.journal("a.service", 5)).includes("hello"));
    await assert.rejects(client.start("bad.service"), (thrown) => {
      assert(thrown instanceof ServiceFault);
      assert.deepEqual(
        [thrown.unit, thrown.message, thrown.journal[0]],
        ["bad.service", 'Cannot start unit "bad.service": exit-code 4', "why"],
      );
      return true;
    });
    await rig.write({ "new.service": shell("exec sleep 1000") });
    await client.reload();
    await client.start("new.service");
    await client.stop("new.service");
    assert.equal((await client.status(["new.service"]))[0]?.active, "inactive");
  },
);

leakless("embeddedServices() says when no manager is there or when it goes away", async () => {
  const { root, paths } = await makeRoot();
  const client = embeddedServices(paths, sockets);
  assert.equal(await client.isRunning(), false);
  await assert.rejects(client.start("a.service"), (thrown) => {
    assert(thrown instanceof ServiceFault);
    assert.equal(
      thrown.message,
      `Cannot start "a.service": no service manager answers on "${paths.managerSocket}"`,
    );
    return true;
  });
  {
    await using rig = await startRig(
      { "a.service": shell("exec sleep 1000", "X-FleetctlReady=log") },
      { paths },
    );
    const refused = assert.rejects(client.start("a.service"), /stopped before it was ready/);
    await rig.next("starting", "a.service");
    await rig.manager.close();
    await refused;
  }
  await assert.rejects(Deno.lstat(root), Deno.errors.NotFound);
});

leakless("the control socket answers garbage with a fault and ends an endless line", async () => {
  await using rig = await startRig();
  const client = await connect(rig.paths.managerSocket);
  for (const line of ["nonsense", "{}", '{"verb":"explode","unit":"a.service"}', "[]"]) {
    client.write(`${line}\n`);
    const answer = await read(client, 80);
    assert.deepEqual(parseAnswer(answer.trim()), {
      ok: false,
      unit: "",
      message: "Cannot read the request: unknown form",
      journal: [],
    });
  }
  client.write("x".repeat(CONTROL_LIMITS.requestBytesMax + 1));
  await ended(client);
  await hangUp(client);
  assert.equal(await embeddedServices(rig.paths, sockets).isRunning(), true);
});

leakless("the control socket hangs up on another user without a word", async () => {
  const { root, paths } = await makeRoot();
  await Deno.mkdir(paths.run, { recursive: true });
  await using rig = await startRig();
  const server = await serveControl({
    path: paths.managerSocket,
    ownUid: Deno.uid()! + 1,
    sockets,
    clock,
    log: quiet,
    manager: rig.manager,
  });
  const client = await connect(paths.managerSocket);
  client.write('{"verb":"status","units":[]}\n');
  assert.equal(await read(client, 1), "");
  await hangUp(client);
  await server.close();
  await Deno.remove(root, { recursive: true });
});

Deno.test("parseRequest() accepts only its verbs with their fields", () => {
  const rows: readonly (readonly [string, boolean])[] = [
    ['{"verb":"reload"}', true],
    ['{"verb":"start","unit":"a.service"}', true],
    ['{"verb":"start"}', false],
    ['{"verb":"start","unit":7}', false],
    [`{"verb":"start","unit":"${"a".repeat(256)}"}`, false],
    ['{"verb":"status","units":["a.service"]}', true],
    ['{"verb":"status","units":"a.service"}', false],
    ['{"verb":"status"}', false],
    ['{"verb":"journal","unit":"a.service","lines":3}', true],
    ['{"verb":"journal","unit":"a.service","lines":-1}', false],
    ['{"verb":"journal","unit":"a.service"}', false],
    ["null", false],
    ["{", false],
  ];
  for (const [line, isTaken] of rows) assert.equal(parseRequest(line) !== undefined, isTaken, line);
});
