/**
 * `roles.yaml`: printing and parsing are inverse, and every fault is reported with its line.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  DEFAULT_ROLES,
  dropHostRole,
  type HostRoles,
  parseHostRoles,
  printHostRoles,
} from "core/ledger/host_roles.ts";

Deno.test("parseHostRoles() reads the output of printHostRoles()", () => {
  const roles: HostRoles = {
    gateway: {
      cockpitListen: "127.0.0.1:8731",
      dialListen: "0.0.0.0:8735",
      trust: "header",
      agentStorageMib: 512,
      eventsDays: 90,
    },
    login: { listen: "[::1]:8736", driver: "basic" },
    isDaemonHere: false,
    areDialUnitsHere: true,
    isHostUnitHere: false,
    shape: { kind: "tree", dir: "/src/fleetctl", denoDir: "/var/cache/deno" },
    workdir: "/srv/project of all",
    project: "/srv/projects/here",
    limits: {
      agents: { memoryMaxBytes: 12 * 1024 ** 3, cpuWeight: 80 },
      agent: { memoryMaxBytes: 2 * 1024 ** 3, tasksMax: 2_048 },
    },
  };
  assert.deepEqual(parseHostRoles(printHostRoles(roles), "roles.yaml"), { ok: true, value: roles });
});

Deno.test("parseHostRoles() means the defaults when the file is absent or empty", () => {
  assert.deepEqual(parseHostRoles(undefined, "f"), { ok: true, value: DEFAULT_ROLES });
  assert.deepEqual(parseHostRoles("# nothing\n", "f"), { ok: true, value: DEFAULT_ROLES });
});

Deno.test("parseHostRoles() reports every fault with its line", () => {
  const read = parseHostRoles(
    "gateway:\n  cockpit_listen: nowhere\n  trust: maybe\n  agent_storage_mib: 1\n" +
      "  events_days: 0\ndaemon: 3\nworkdir: here\nextra: 1\nlimits:\n" +
      "  agent: { memory_max: 2 }\n  each: {}\n",
    "roles.yaml",
  );
  assert.ok(!read.ok);
  assert.equal(read.error.code, "roles-file-invalid");
  const lines = read.error.details.map((line) => line.split(":")[1]).sort();
  assert.deepEqual(lines, ["2", "3", "4", "5", "6", "7", "8", "10", "11"].sort());
});

const FILE = "/etc/fleetctl/roles.yaml";
const WRITTEN = `# This host.

# Where agents dial in.
gateway:
  trust: header # our own front signs people in
# The proxy, by Mia.
login:
  driver: basic
  # Asked for on Monday.
  listen: 127.0.0.1:8736
# Runs here, too.
teamchat:
  listen: 127.0.0.1:3978
  register_listen: 127.0.0.1:3978
`;

for (const section of ["gateway", "login", "teamchat"] as const) {
  Deno.test(`dropHostRole() removes ${section} and no comment outside of it`, () => {
    const dropped = dropHostRole(WRITTEN, section, FILE);
    assert.ok(dropped.ok);
    const comments = (text: string) => text.split("\n").filter((line) => line.startsWith("#"));
    assert.deepEqual(comments(dropped.value), comments(WRITTEN), dropped.value);
    const before = parseHostRoles(WRITTEN, FILE);
    const after = parseHostRoles(dropped.value, FILE);
    assert.ok(before.ok && after.ok);
    const { [section]: _, ...rest } = before.value;
    assert.deepEqual(after.value, rest);
    const again = dropHostRole(dropped.value, section, FILE);
    assert.deepEqual(again, dropped, "taking it again changes nothing");
  });
}
