/**
 * When `catalog add` may start a third-party server to try it out, and how it is confined.
 *
 * @module
 */

import assert from "node:assert/strict";
import { confinement } from "cli/mcp/catalog/try_out.ts";
import { pathsUnder } from "core/paths.ts";
import { escapeWord, tryUnitWords } from "units/render/mcp/try_unit.ts";

const BOTH = ["unshare", "setpriv"];
const SYSTEMD = ["systemd-run", ...BOTH];

/**
 * A machine with these programs. `booted` is undefined without systemd; else it has the state of
 * fleetctl's daemon, and whether there is a D-Bus socket.
 */
function contextOf(
  [uid, root, programs]: readonly [number, string, readonly string[]],
  booted: { readonly daemon: "active" | "inactive"; readonly hasBus?: false } | undefined,
) {
  return {
    paths: pathsUnder(root),
    ports: {
      users: { currentUid: () => uid },
      files: { stat: () => Promise.resolve(booted?.hasBus === false ? undefined : {}) },
      services: () => ({
        name: root === "/" ? "systemd" : "embedded",
        isRunning: () => Promise.resolve(booted !== undefined),
        status: (units: readonly string[]) =>
          Promise.resolve(units.map((unit) => ({ unit, active: booted?.daemon }))),
      }),
      processes: {
        which: (name: string) =>
          Promise.resolve(programs.includes(name) ? `/usr/bin/${name}` : undefined),
      },
    } as unknown as Parameters<typeof confinement>[0]["ports"],
  };
}

Deno.test("as root on a real host nothing is tried out without unshare and setpriv", async () => {
  for (
    const [uid, root, programs, want] of [
      [0, "/", BOTH, ["/usr/bin/unshare", "--net"]],
      [0, "/", ["setpriv"], "unshare"],
      [0, "/", ["unshare"], "setpriv"],
      [0, "/", [], "unshare"],
      [1000, "/", [], []],
      [0, "/tmp/root", [], []],
    ] as const
  ) {
    const found = await confinement(contextOf([uid, root, programs], undefined), false);
    const at = JSON.stringify([uid, root, programs]);
    if (typeof want !== "string") {
      assert.ok(found.ok && found.value.kind !== "unit", at);
      assert.deepEqual(found.value.words.slice(0, 2), want, at);
    } else {
      assert.ok(!found.ok && found.error.code === "try-unconfined", at);
      assert.match(found.error.message, new RegExp(want), at);
      assert.deepEqual(found.error.hints, ["apt-get install util-linux"], at);
    }
  }
});

Deno.test("under systemd a try runs as its own unit, bound to the daemon", async () => {
  for (const daemon of ["active", "inactive"] as const) {
    const found = await confinement(contextOf([0, "/", SYSTEMD], { daemon }), false);
    assert.deepEqual(found.ok && found.value, {
      kind: "unit",
      systemdRun: "/usr/bin/systemd-run",
      boundTo: daemon === "active" ? "fleetctl-daemon.service" : undefined,
    });
  }
  const without = await confinement(contextOf([0, "/", BOTH], { daemon: "active" }), false);
  assert.ok(!without.ok && without.error.code === "try-unconfined");
  assert.match(without.error.message, /systemd-run is not on this host/);
  const busless = { daemon: "active", hasBus: false } as const;
  const silent = await confinement(contextOf([0, "/", SYSTEMD], busless), false);
  assert.ok(!silent.ok && silent.error.code === "try-unconfined");
  assert.deepEqual(silent.error.hints, ["apt-get install dbus"]);
});

Deno.test("tryUnitWords() removes rights, network and files, and passes its inputs", () => {
  const words = tryUnitWords("/usr/bin/systemd-run", {
    unit: "fleetctl-try-1.service",
    boundTo: "fleetctl-daemon.service",
    limits: { memoryBytesMax: 1024, tasksMax: 7, idleStopSeconds: 10 },
    root: "/var/lib/fleetctl/tries/1/root",
    tree: "/var/lib/fleetctl/deploy/wiki/1.0.0-1",
    home: "/var/lib/fleetctl/tries/1/home",
    workdir: "/var/lib/fleetctl/tries/1/home/workspace",
    audit: { file: "/var/lib/fleetctl/tries/1/a", seenAs: "/var/lib/fleetctl/tries/1/home/a" },
    env: { WIKI_KEY: "made-up" },
  });
  for (
    const word of [
      "--slice=fleetctl-try.slice",
      "--unit=fleetctl-try-1.service",
      "--property=BindsTo=fleetctl-daemon.service",
      "--property=DynamicUser=yes",
      "--property=RootDirectory=/var/lib/fleetctl/tries/1/root",
      "--property=PrivateNetwork=yes",
      "--property=ProtectSystem=strict",
      "--property=CapabilityBoundingSet=",
      "--property=NoNewPrivileges=yes",
      "--property=RestrictNamespaces=yes",
      "--property=MemoryMax=1024",
      "--property=MemorySwapMax=0",
      "--property=TasksMax=7",
      "--property=RuntimeMaxSec=120",
      "--setenv=WIKI_KEY=made-up",
    ]
  ) {
    assert.ok(words.includes(word), word);
  }
  assert.deepEqual([words[0], words.at(-1)], ["/usr/bin/systemd-run", "--"]);
  assert.equal(escapeWord("a$b${c}"), "a$$b$${c}");
});
