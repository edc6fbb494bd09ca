/**
 * Each soft setting is listed while it is soft, and no longer once it is hard.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type SoftInputs, softSettings } from "cli/doctor/soft_settings.ts";
import { DEFAULT_ROLES } from "core/ledger/host_roles.ts";
import type { HostName } from "core/names.ts";
import { agent, manifest } from "tests/units/reconcile/fixture.ts";

const GATEWAY = { cockpitListen: "127.0.0.1:8731", dialListen: "127.0.0.1:8735" } as const;
const ATLAS = "atlas" as HostName;
/** A host without any soft setting. */
const HARD: SoftInputs = {
  roles: {
    ...DEFAULT_ROLES,
    gateway: { ...GATEWAY, trust: "assertion" },
    login: { listen: "0.0.0.0:8736", driver: "basic" },
  },
  markers: { isDialKeyRequired: true },
  agents: [agent("ada", { runOn: ATLAS, dialKeys: ["k"] })],
  wired: [
    manifest("notes"),
    manifest("agent-message", { source: { kind: "builtin", name: "agent-message" } }),
  ],
  hostname: ATLAS,
  hosts: 2,
  basicUsers: undefined,
  teamsRegisterToken: undefined,
};

const NO_PERMISSIONS = { net: [], read: [], write: [], env: [], run: [], sys: [] };

const ROWS: readonly (readonly [setting: string, soft: Partial<SoftInputs>, says: RegExp])[] = [
  [
    "WEBVIEW_TRUST",
    { roles: { ...HARD.roles, gateway: { ...GATEWAY, trust: "header" } } },
    /any local process can act as any user/,
  ],
  [
    "host.dial_require_key",
    {
      markers: { isDialKeyRequired: false },
      agents: [agent("bea", { runOn: ATLAS, dialKeys: undefined as never })],
    },
    /until their first key is recorded: "bea"/,
  ],
  [
    "gateway.dial_listen",
    {
      roles: {
        ...HARD.roles,
        gateway: { ...GATEWAY, trust: "assertion", dialListen: "0.0.0.0:8735" },
      },
    },
    /without TLS/,
  ],
  [
    "WEBVIEW_BASIC_USERS",
    { basicUsers: "ada@example.org:in-clear-text" },
    /passwords of "ada@example.org"/,
  ],
  ["TEAMS_REGISTER_TOKEN", { teamsRegisterToken: "t" }, /as any team-chat agent/],
  [
    "admin",
    { agents: [agent("root-like", { runOn: ATLAS, dialKeys: ["k"], isAdmin: true })] },
    /equivalent to root/,
  ],
  ["run_on", { agents: [agent("ada", { dialKeys: ["k"] })] }, /on all 2 hosts at once.*"ada"/],
  ["run_as", { wired: [manifest("x", { sharing: "shared", runAs: "root" })] }, /"x"/],
  ["permissions.net", {
    wired: [manifest("x", { permissions: { ...NO_PERMISSIONS, net: ["*"] } })],
  }, /every host/],
  ["permissions.run", {
    wired: [manifest("x", { permissions: { ...NO_PERMISSIONS, run: ["git"] } })],
  }, /starts programs/],
];

Deno.test("softSettings() returns nothing for a host with strict settings", () => {
  assert.deepEqual(softSettings(HARD), []);
});

for (const [setting, soft, says] of ROWS) {
  Deno.test(`softSettings() lists ${setting} when its value is less strict`, () => {
    const found = softSettings({ ...HARD, ...soft });
    assert.deepEqual(found.map((each) => each.setting), [setting]);
    assert.match(found[0]?.means ?? "", says);
    assert.ok((found[0]?.run.length ?? 0) > 0);
  });
}

Deno.test("softSettings() omits roles of other hosts, and shortens a long list", () => {
  const { gateway: _, login: __, ...roles } = HARD.roles;
  assert.deepEqual(softSettings({ ...HARD, roles, basicUsers: "a:b" }), []);
  const many = Array.from({ length: 12 }, (_, at) => agent(`a${at}`, { dialKeys: ["k"] }));
  assert.match(softSettings({ ...HARD, agents: many })[0]?.means ?? "", /and 4 more$/);
  assert.ok(
    !JSON.stringify(softSettings({ ...HARD, teamsRegisterToken: "sesame" })).includes("sesame"),
  );
});
