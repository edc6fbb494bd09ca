/**
 * Permission sets: how the templates of `deno.json` are rendered for one root and one agent, and
 * what no rendered set may contain (architecture 4a).
 *
 * @module
 */

import assert from "node:assert/strict";
import { GATEWAY_SETTINGS } from "gateway/config.ts";
import { LOGIN_SETTINGS } from "login/config.ts";
import { TEAMCHAT_SETTINGS } from "teamchat/config.ts";
import { RECEIVER_SETTINGS } from "teamchat/receiver/config.ts";
import { DAEMON_SETTINGS } from "units/daemon/settings.ts";
import { HOST_DIAL_SETTINGS } from "units/dial/host_config.ts";
import type { AgentName } from "core/names.ts";
import { agent, facts, manifest, RUNTIME_B } from "tests/units/reconcile/fixture.ts";
import {
  type AgentContext,
  hostPermissions,
  renderAgentPermissions,
} from "units/render/permission_files.ts";
import { expandSet, type PermissionSet, permissionTemplates } from "units/render/permissions.ts";

const VALUES = { root: "/r", hosts: ["a:1", "b:2"], none: [] };
const ROWS: readonly {
  readonly name: string;
  readonly template: PermissionSet;
  readonly want: PermissionSet;
}[] = [
  { name: "text", template: { read: ["{root}/x"] }, want: { read: ["/r/x"] } },
  { name: "a list", template: { net: ["{hosts}", "c:3"] }, want: { net: ["a:1", "b:2", "c:3"] } },
  { name: "an empty list", template: { net: ["{none}"] }, want: { net: [] } },
  { name: "the same entry twice", template: { read: ["/r", "{root}"] }, want: { read: ["/r"] } },
  { name: "all", template: { read: true, write: false }, want: { read: true, write: false } },
  {
    name: "an env that is ignored",
    template: { env: { allow: ["{root}_X"], ignore: true } },
    want: { env: { allow: ["/r_X"], ignore: true } },
  },
];
for (const row of ROWS) {
  Deno.test(`expandSet() fills in ${row.name}`, () => {
    assert.deepEqual(expandSet("s", row.template, VALUES), { ok: true, value: row.want });
  });
}

const UNKNOWN: readonly PermissionSet[] = [
  { read: ["{nowhere}"] },
  { read: ["{root}/{nowhere}"] },
  { net: ["x{hosts}"] },
  { env: { allow: ["{nowhere}"], ignore: true } },
  { read: ["{}"] },
];
for (const template of UNKNOWN) {
  Deno.test(`expandSet() refuses ${JSON.stringify(template)}`, () => {
    const result = expandSet("s", template, VALUES);
    assert.equal(result.ok ? "" : result.error.code, "permission-placeholder-unknown");
    assert.equal(result.ok ? 0 : result.error.details.length, 1);
  });
}

function listsOf(set: PermissionSet): readonly string[] {
  return Object.values(set).flatMap((value) =>
    typeof value === "boolean" ? [] : "allow" in value ? value.allow : value
  );
}

for (const root of ["/", "/home/op/root"]) {
  Deno.test(`both sets of permissions render every template under ${root}`, () => {
    const given = facts({ ada: ["git"] }, { root });
    const sets = hostPermissions(given);
    assert.ok(sets.ok, sets.ok ? "" : sets.error.details.join("\n"));
    const file = renderAgentPermissions(agent("ada"), site("ada", { root }));
    assert.ok(file.ok, file.ok ? "" : file.error.details.join("\n"));
    const rendered = { ...JSON.parse(file.value.content).permissions, ...sets.value };
    const names = Object.keys(permissionTemplates());
    assert.deepEqual(Object.keys(rendered).sort(), [...names].sort());
    for (const [name, set] of Object.entries(rendered) as [string, PermissionSet][]) {
      const template = permissionTemplates()[name] ?? {};
      assert.deepEqual(Object.keys(set), Object.keys(template), `kinds of ${name}`);
      for (const [kind, value] of Object.entries(template)) {
        if (typeof value === "boolean") assert.equal(set[kind], value, `${name}.${kind}`);
      }
      for (const entry of listsOf(set)) {
        assert.doesNotMatch(entry, /[{}]/, `${name} holds ${entry}`);
        assert.notEqual(entry, "", `${name} has an empty entry, which Deno takes for all`);
        assert.doesNotMatch(entry, /^(unix:)?\/\//, `${name} holds ${entry}`);
      }
    }
  });
}

function covers(value: PermissionSet[string] | undefined, path: string): boolean {
  return value === true || (Array.isArray(value) &&
    value.some((granted) => path === granted || path.startsWith(`${granted}/`)));
}

Deno.test("a set that names a unix socket may read and write its path, which Deno asks for", () => {
  const file = renderAgentPermissions(agent("ada"), site("ada"));
  const sets = hostPermissions(facts({ ada: ["git"] }, { root: "/" }));
  assert.ok(file.ok && sets.ok);
  const rendered = { ...JSON.parse(file.value.content).permissions, ...sets.value };
  const missing = (Object.entries(rendered) as [string, PermissionSet][]).flatMap(([name, set]) =>
    (Array.isArray(set.net) ? set.net : []).filter((entry) => entry.startsWith("unix:"))
      .map((entry) => entry.slice("unix:".length))
      .flatMap((path) =>
        ["read", "write"].filter((kind) => !covers(set[kind], path))
          .map((kind) => `${name}: ${kind} ${path}`)
      )
  );
  assert.deepEqual(missing, []);
});

Deno.test("only an agent of channel teamchat may reach the team-chat gateway", () => {
  const dial = { registerUrl: "ws://127.0.0.1:8735", teamchatUrl: "ws://boreas:3978/register" };
  const given = { ...site("ada"), facts: facts({ ada: [] }, { roles: { dial } }) };
  for (const channel of ["webview", "teamchat", "messenger", "workchat"] as const) {
    const file = renderAgentPermissions({ ...agent("ada"), channel }, given);
    assert.ok(file.ok);
    const { net } = JSON.parse(file.value.content).permissions.dial;
    assert.equal(net.includes("boreas:3978"), channel === "teamchat", channel);
  }
});

Deno.test("hostPermissions() leaves the gateway's set out where no gateway runs", () => {
  const sets = hostPermissions(facts({ ada: [] }, { roles: {} }));
  assert.ok(sets.ok && sets.value.gateway === undefined && sets.value.daemon !== undefined);
});

Deno.test("a role may read each of its settings, and those of no other role", () => {
  const roles = {
    gateway: GATEWAY_SETTINGS,
    login: LOGIN_SETTINGS,
    teamchat: TEAMCHAT_SETTINGS,
    "teamchat-receiver": RECEIVER_SETTINGS,
    "host-dial": HOST_DIAL_SETTINGS,
    daemon: DAEMON_SETTINGS,
  };
  const namesOf = (settings: Readonly<Record<string, { readonly name: string }>>) =>
    Object.values(settings).map(({ name }) => name);
  const all = new Set(Object.values(roles).flatMap(namesOf));
  for (const [role, settings] of Object.entries(roles)) {
    const { env } = permissionTemplates()[role] ?? {};
    assert.ok(typeof env === "object" && "allow" in env, role);
    const own = namesOf(settings).toSorted();
    assert.deepEqual(env.allow.filter((name) => all.has(name)).toSorted(), own, role);
  }
});

Deno.test("the roles that listen or run as root name every file and host they touch", () => {
  for (const name of ["gateway", "daemon", "mcp"]) {
    const wide = Object.entries(permissionTemplates()[name] ?? {})
      .filter(([kind, value]) => value === true && kind !== "env").map(([kind]) => kind);
    assert.deepEqual(wide, [], `${name} must not hold all of ${wide.join(", ")}`);
  }
  assert.deepEqual(permissionTemplates().daemon?.run, ["{lib}/fleetctl-exec"]);
  assert.equal(permissionTemplates().gateway?.ffi, undefined);
  assert.equal(permissionTemplates().gateway?.run, undefined);
});

function site(
  name: string,
  more: {
    readonly root?: string;
    readonly secrets?: Readonly<Record<string, string>>;
    readonly registerUrl?: string;
    readonly modelHosts?: readonly string[];
    readonly http?: string;
  } = {},
): AgentContext {
  const given = facts({ [name]: ["git"] }, { root: more.root ?? "/" });
  const http = more.http === undefined ? [] : [
    manifest("remote", { source: { kind: "http", url: more.http }, transport: "http" }),
  ];
  return {
    facts: {
      ...given,
      roles: {
        ...given.roles,
        dial: {
          registerUrl: more.registerUrl ?? "ws://127.0.0.1:8735",
          modelHosts: new Map([[name as AgentName, more.modelHosts ?? []]]),
        },
      },
    },
    runtime: RUNTIME_B,
    manifests: [manifest("git"), ...http],
    workspace: `${given.paths.home(name as AgentName)}/workspace`,
    secrets: new Map(Object.entries(more.secrets ?? {})),
  };
}

const HOSTS: readonly {
  readonly name: string;
  readonly provider?: string;
  readonly given?: Parameters<typeof site>[1];
  readonly want: readonly string[];
}[] = [
  { name: "the demo model", want: ["127.0.0.1"] },
  { name: "a known provider", provider: "anthropic", want: ["127.0.0.1", "api.anthropic.com:443"] },
  {
    name: "a key without a provider",
    given: { secrets: { OPENAI_API_KEY: "k" } },
    want: ["127.0.0.1", "api.openai.com:443"],
  },
  {
    name: "a custom endpoint",
    provider: "openai-compatible",
    given: { secrets: { FLEETCTL_BASE_URL: "https://models.example/v1" } },
    want: ["127.0.0.1", "models.example:443"],
  },
  {
    name: "an MCP that is reached by URL",
    given: { http: "https://maps.example:8443/mcp?k={K}" },
    want: ["127.0.0.1", "maps.example:8443"],
  },
  { name: "hosts that the facts name", given: { modelHosts: ["x:9"] }, want: ["127.0.0.1", "x:9"] },
];
for (const row of HOSTS) {
  Deno.test(`renderAgentPermissions() lets the runtime reach ${row.name} and its dial unit`, () => {
    const record = agent("ada", row.provider === undefined ? {} : { provider: row.provider });
    const file = renderAgentPermissions(record, site("ada", row.given));
    assert.ok(file.ok);
    assert.deepEqual(JSON.parse(file.value.content).permissions.runtime.net, [
      ...row.want,
      "unix:/home/ada/.fleetctl/dial/local.sock",
    ]);
  });
}

Deno.test("renderAgentPermissions() refuses an invalid register URL", () => {
  const file = renderAgentPermissions(agent("ada"), site("ada", { registerUrl: "gateway" }));
  assert.equal(file.ok ? "" : file.error.code, "register-url-invalid");
});
