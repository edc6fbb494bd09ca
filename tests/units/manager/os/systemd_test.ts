/**
 * @module
 */

import assert from "node:assert/strict";
import { ServiceFault } from "units/manager/service_manager.ts";
import { systemdServices } from "units/manager/os/systemd.ts";
import { parseUnitStatus } from "units/manager/os/systemd_show.ts";
import { fakeProcesses, type FakeProgram } from "tests/fakes/processes.ts";

const SHOWN = `Id=fleetctl-gateway.service
LoadState=loaded
ActiveState=active
MainPID=812
StateChangeTimestamp=Thu 2026-01-01 00:00:00.412412 UTC
Result=success
ExecMainCode=0
ExecMainStatus=0
NRestarts=2

Id=mcp-git-ada.socket
LoadState=loaded
ActiveState=failed
StateChangeTimestamp=
Result=service-start-limit-hit

Id=fleetctl-dial-ada.service
LoadState=loaded
ActiveState=failed
MainPID=0
StateChangeTimestamp=Thu 2026-01-01 00:00:01.000001 UTC
Result=exit-code
ExecMainCode=1
ExecMainStatus=2
NRestarts=0

Id=crashed.service
LoadState=loaded
ActiveState=activating
MainPID=0
Result=signal
ExecMainCode=2
ExecMainStatus=9
NRestarts=7

Id=none.service
LoadState=not-found
ActiveState=inactive
MainPID=0
Result=success
`;

Deno.test("parseUnitStatus() reads one state per block", () => {
  assert.deepEqual(parseUnitStatus(SHOWN), [
    {
      unit: "fleetctl-gateway.service",
      load: "loaded",
      active: "active",
      mainPid: 812,
      since: 1_767_225_600_412,
      reason: undefined,
      restarts: 2,
    },
    {
      unit: "mcp-git-ada.socket",
      load: "loaded",
      active: "failed",
      mainPid: undefined,
      since: undefined,
      reason: "service-start-limit-hit",
      restarts: 0,
    },
    {
      unit: "fleetctl-dial-ada.service",
      load: "loaded",
      active: "failed",
      mainPid: undefined,
      since: 1_767_225_601_000,
      reason: "exit-code 2",
      restarts: 0,
    },
    {
      unit: "crashed.service",
      load: "loaded",
      active: "activating",
      mainPid: undefined,
      since: undefined,
      reason: "signal SIGKILL",
      restarts: 7,
    },
    {
      unit: "none.service",
      load: "not-found",
      active: "inactive",
      mainPid: undefined,
      since: undefined,
      reason: undefined,
      restarts: 0,
    },
  ]);
});

const LISTED = [
  ["fleetctl-gateway.service", "loaded", "active"],
  ["mcp-git-ada.socket", "loaded", "failed"],
  ["mcp-git-bob.socket", "loaded", "active"],
  ["broken.service", "bad-setting", "inactive"],
  // Not a unit of fleetctl, so not queried.
  ["fleetctl-gateway-of-others.service", "loaded", "active"],
];

function printList(rows: readonly (readonly string[])[]): string {
  return JSON.stringify(rows.map(([unit, load, active]) => (
    { unit, load, active, sub: "x", description: 'an "odd" one' }
  )));
}

/** A folder of unit files that systemd has not loaded. */
async function unitFolder(): Promise<string> {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/stopped.service`, "[Service]\n");
  await Deno.writeTextFile(`${folder}/mcp@.service`, "[Service]\n");
  await Deno.symlink("/dev/null", `${folder}/masked.service`);
  await Deno.symlink("stopped.service", `${folder}/alias.service`);
  return folder;
}

function open(table: Record<string, FakeProgram>, units: readonly string[] = []) {
  const processes = fakeProcesses(table);
  const folders = { booted: "/run/systemd/system", units };
  return { processes, services: systemdServices(processes, folders) };
}

Deno.test("parseUnitStatus() reports a unit that the kernel ended for lack of memory", () => {
  const text = "Id=a.service\nLoadState=loaded\nActiveState=activating\nResult=oom-kill\n" +
    "ExecMainCode=2\nExecMainStatus=9\n";
  assert.deepEqual(parseUnitStatus(text).map(({ reason }) => reason), ["out of memory"]);
});

Deno.test("status() lists all units once, and reads properties only of some", async () => {
  const folder = await unitFolder();
  try {
    const { processes, services } = open({
      systemctl: (call) => {
        if (call.args[0] === "list-units") return call.print(printList(LISTED));
        const blocks = SHOWN.split("\n\n");
        const alias = "Id=stopped.service\nLoadState=loaded\nActiveState=inactive\n";
        return call.print([blocks[0], blocks[1], alias].join("\n\n"));
      },
    }, [`${folder}/none`, folder]);
    const units = [
      "fleetctl-gateway.service",
      "mcp-git-ada.socket",
      "mcp-git-bob.socket",
      "broken.service",
      "stopped.service",
      "masked.service",
      "none.service",
      "mcp@0-1-2.service",
      "alias.service",
      "stopped.service",
    ];
    const states = await services.status(units);
    assert.deepEqual(states.map(({ unit, load, active }) => `${unit} ${load} ${active}`), [
      "fleetctl-gateway.service loaded active",
      "mcp-git-ada.socket loaded failed",
      "mcp-git-bob.socket loaded active",
      "broken.service not-found inactive",
      "stopped.service loaded inactive",
      "masked.service not-found inactive",
      "none.service not-found inactive",
      "mcp@0-1-2.service loaded inactive",
      "alias.service loaded inactive",
      "stopped.service loaded inactive",
    ]);
    assert.deepEqual(states[0]?.mainPid, 812);
    assert.deepEqual(states[1]?.reason, "service-start-limit-hit");
    const asked = processes.calls.map((call) => call.args.slice(call.args.indexOf("--") + 1));
    assert.deepEqual(asked, [
      units,
      ["fleetctl-gateway.service", "mcp-git-ada.socket", "alias.service"],
    ]);
    assert.deepEqual(await services.status([]), []);
    assert.equal(processes.calls.length, 2);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("status() starts as many programs for a thousand agents as for one", async () => {
  const { processes, services } = open({ systemctl: (call) => call.print("[]") });
  const agents = Array.from({ length: 1_000 }, (_, index) => `a${index}`);
  const units = agents.flatMap((agent) => [
    `fleetctl-dial-${agent}.service`,
    `mcp-git-${agent}.socket`,
    `mcp-shared@${agent}.service`,
  ]);
  const states = await services.status([...units, "plain.service"]);
  assert.deepEqual(states.map((state) => state.unit), [...units, "plain.service"]);
  assert.deepEqual(processes.calls.map((call) => call.args), [[
    "list-units",
    "--all",
    "--full",
    "--no-pager",
    "--output=json",
    "--",
    "fleetctl-*.service",
    "mcp-*.socket",
    "mcp-*.service",
    "plain.service",
  ]]);
});

Deno.test("status() refuses an answer that is not a list of units", async () => {
  for (const output of ["", "[1]", "{}", '[{"unit":"x.service","load":"loaded"}]', "[] []"]) {
    const { services } = open({ systemctl: (call) => call.print(output) });
    await assert.rejects(services.status(["x.service"]), /Cannot list units: its answer/, output);
  }
  const { services } = open({
    systemctl: async (call) => {
      await call.warn("Failed to connect to bus: No such file or directory\n");
      return 1;
    },
  });
  await assert.rejects(services.status(["x.service"]), /Cannot list units: Failed to connect/);
});

Deno.test("status() refuses properties of other units than the requested ones", async () => {
  const { services } = open({
    systemctl: (call) => call.print(call.args[0] === "show" ? SHOWN : printList(LISTED)),
  });
  await assert.rejects(services.status(["fleetctl-gateway.service"]), /requested 1, received 5/);
});

Deno.test("start() runs systemctl for exactly one unit, without fleetctl's variables", async () => {
  const { processes, services } = open({ systemctl: () => 0 });
  await services.start("fleetctl-gateway.service");
  await services.stop("fleetctl-gateway.service");
  await services.restart("fleetctl-gateway.service");
  await services.reload();
  assert.deepEqual(processes.calls.map((call) => call.args.join(" ")), [
    "--no-ask-password start -- fleetctl-gateway.service",
    "cat --no-pager -- fleetctl-gateway.service",
    "--no-ask-password stop -- fleetctl-gateway.service",
    "--no-ask-password restart -- fleetctl-gateway.service",
    "cat --no-pager -- fleetctl-gateway.service",
    "--no-ask-password daemon-reload",
  ]);
  assert.deepEqual(Object.keys(processes.calls[0]?.env ?? {}), [
    "PATH",
    "LC_ALL",
    "SYSTEMD_COLORS",
  ]);
});

Deno.test("each() starts one program for many units, and reloads nothing", async () => {
  const { processes, services } = open({ systemctl: () => 0 });
  const units = Array.from({ length: 150 }, (_, index) => `mcp-git-a${index}.socket`);
  for (const verb of ["enable", "disable", "start", "stop"] as const) {
    assert.deepEqual(await services.each(verb, units), []);
  }
  assert.deepEqual(await services.each("start", []), []);
  assert.deepEqual(
    processes.calls.map((call) => call.args),
    [["--no-reload", "enable"], ["--no-reload", "disable"], ["start"], ["stop"]].map((
      words,
    ) => ["--no-ask-password", ...words, "--", ...units]),
  );
});

Deno.test("each() names the one unit that fails, and starts no other twice", async () => {
  const { processes, services } = open({
    systemctl: async (call) => {
      const [verb] = call.args;
      const rows = [["a.socket", "loaded", "active"], ["b.socket", "not-found", "inactive"]];
      if (verb === "list-units") return await call.print(printList(rows));
      if (!call.args.includes("b.socket")) return 0;
      await call.warn("Unit b.socket not found.\n");
      return 1;
    },
  });
  for (const verb of ["start", "enable"] as const) {
    const faults = await services.each(verb, ["a.socket", "b.socket"]);
    assert.deepEqual(faults.map(({ unit, message }) => [unit, message]), [
      ["b.socket", `Cannot ${verb} b.socket: Unit b.socket not found.`],
    ]);
  }
  const words = (args: readonly string[]) => args.filter((arg) => !arg.startsWith("--")).join(" ");
  assert.deepEqual(
    processes.calls.filter(({ command }) => command === "systemctl").map(({ args }) => words(args)),
    [
      "start a.socket b.socket",
      "list-units a.socket b.socket",
      "start b.socket",
      "enable a.socket b.socket",
      "enable a.socket",
      "enable b.socket",
    ],
  );
});

Deno.test("each() refuses an invalid unit name before it starts a program", async () => {
  const { processes, services } = open({ systemctl: () => 0 });
  await assert.rejects(
    async () => await services.each("stop", ["a.socket", "--all"]),
    ServiceFault,
  );
  assert.deepEqual(processes.calls, []);
});

Deno.test("start() rejects with systemd's message and the tail of the journal", async () => {
  const { services } = open({
    systemctl: async (call) => {
      await call.warn("Job for x.service failed because of a timeout.\nSee more.\n");
      return 1;
    },
    journalctl: (call) => call.print("first\nlast words\n"),
  });
  await assert.rejects(services.start("x.service"), (thrown: unknown) => {
    assert.ok(thrown instanceof ServiceFault);
    assert.equal(thrown.unit, "x.service");
    assert.equal(
      thrown.message,
      "Cannot start x.service: Job for x.service failed because of a timeout.",
    );
    assert.deepEqual(thrown.journal, ["first", "last words"]);
    return true;
  });
});

/** A service that logs when it is ready; its states and its journal, one poll after the other. */
function readyByLog(
  looks: readonly (readonly [state: string, said: string])[],
  timeout = "1min 30s",
) {
  let at = -1;
  const look = () => looks[Math.min(at, looks.length - 1)] as readonly [string, string];
  return open({
    systemctl: async (call) => {
      if (call.args[0] === "cat") await call.print("[Service]\nX-FleetctlReady=log\n");
      if (call.args[0] === "show" && call.args.includes("--property=TimeoutStartUSec")) {
        await call.print(`${timeout}\n`);
      } else if (call.args[0] === "show") {
        at++;
        const [active, sub, id] = look()[0].split(" ");
        await call.print(`ActiveState=${active}\nSubState=${sub}\nInvocationID=${id}\n`);
      }
      return 0;
    },
    journalctl: async (call) => {
      const isRun = call.args.some((arg) => arg.startsWith("_SYSTEMD_INVOCATION_ID="));
      await call.print(isRun ? look()[1] : "why it ended\n");
      return 0;
    },
  }).services;
}

Deno.test("start() waits until the service reports that it is ready", async () => {
  await readyByLog([
    ["active running r1", "starting\n"],
    ["active running r1", 'starting\n{"event":"ready"}\n'],
  ]).start("x.service");
});

Deno.test("start() gives an unready service as long as its TimeoutStartSec", async () => {
  for (const output of ["waiting\n", "Started x.service.\n"]) {
    const services = readyByLog([["active running r1", output]], "200ms");
    await assert.rejects(
      services.start("x.service"),
      (thrown: unknown) =>
        thrown instanceof ServiceFault && /it was not ready within 0\.2 s/.test(thrown.message),
    );
  }
});

Deno.test("isReady() distinguishes a serving run from a hanging one, without waiting", async () => {
  const rows = [
    ["active running r1", '{"event":"ready"}\n', true],
    ["active running r1", "waiting\n", false],
    ["activating auto-restart r1", '{"event":"ready"}\n', false],
    // On a host that keeps no journal, the state alone decides.
    ["active running r1", "", true],
  ] as const;
  for (const [state, output, want] of rows) {
    assert.equal(await readyByLog([[state, output]]).isReady?.("x.service"), want, state + output);
  }
});

for (
  const [what, last] of [
    ["ended for good", "failed failed r1"],
    ["waits to be started again", "activating auto-restart r1"],
    ["was started again meanwhile", "active running r2"],
  ] as const
) {
  Deno.test(`restart() reports a service that ${what} before it was ready`, async () => {
    const services = readyByLog([["active running r1", ""], [last, ""]]);
    await assert.rejects(services.restart("x.service"), (thrown: unknown) => {
      assert.ok(thrown instanceof ServiceFault);
      assert.equal(thrown.message, "Cannot start x.service: it ended before it was ready");
      assert.deepEqual(thrown.journal, ["why it ended"]);
      return true;
    });
  });
}

Deno.test("start() refuses an invalid unit name before it starts a program", async () => {
  const { processes, services } = open({ systemctl: () => 0, journalctl: () => 0 });
  for (
    const unit of ["--root=/x.service", "a b.service", "*.service", "", "plain", "a/b.service"]
  ) {
    await assert.rejects(services.start(unit), ServiceFault, unit);
    await assert.rejects(services.journal(unit, 1), ServiceFault, unit);
    await assert.rejects(services.status([unit]), ServiceFault, unit);
  }
  assert.deepEqual(processes.calls, []);
});

Deno.test("journal() gives the last lines, oldest first", async () => {
  const { processes, services } = open({ journalctl: (call) => call.print("one\ntwo\n\n") });
  assert.deepEqual(await services.journal("x.service", 20), ["one", "two"]);
  assert.deepEqual(processes.calls[0]?.args, [
    "--no-pager",
    "--quiet",
    "--output=cat",
    "--lines=20",
    "--unit=x.service",
  ]);
});

Deno.test("isRunning() checks for the folder that only a booted systemd creates", async () => {
  const root = await Deno.makeTempDir();
  try {
    const processes = fakeProcesses();
    const services = (booted: string) => systemdServices(processes, { booted, units: [] });
    assert.equal(await services(root).isRunning(), true);
    assert.equal(await services(`${root}/none`).isRunning(), false);
  } finally {
    await Deno.remove(root);
  }
});
