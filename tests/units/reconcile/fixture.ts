/**
 * Facts for tests of renderers and planner: three agents, five MCPs of every kind, all roles.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { AgentName, Email, HostName, KeyName, McpName } from "core/names.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { RuntimeDefinition } from "core/runtimes/definition.ts";
import type { Facts } from "units/reconcile/facts.ts";

/** Makes a manifest; the defaults are those of a credential-free npm server. */
export function manifest(name: string, more: Partial<Manifest> = {}): Manifest {
  return {
    name: name as McpName,
    summary: `The ${name} server`,
    source: { kind: "npm", package: `@example/${name}`, version: "1.2.3" },
    integrity: "sha512-x",
    lockIntegrity: "sha256-x",
    command: `node_modules/@example/${name}/cli.js`,
    args: [],
    environment: {},
    auth: "none",
    requiredEnv: [],
    userEnv: [],
    optionalEnv: [],
    sharing: "per_user",
    transport: "stdio",
    headers: {},
    exposure: "codemode",
    toolExposure: new Map(),
    risk: new Map(),
    readOnly: new Set(),
    engine: "deno",
    permissions: { net: [], read: [], write: [], env: [], run: [], sys: [] },
    limits: { memoryBytesMax: 512 * 1024 * 1024, tasksMax: 128, idleStopSeconds: 900 },
    hostPrograms: [],
    origin: "shipped",
    ...more,
  };
}

/** One MCP of each kind. */
export const MANIFESTS: readonly Manifest[] = [
  manifest("git", {
    permissions: {
      net: [],
      read: ["{home}", "{workdir}"],
      write: ["{home}/repos"],
      env: ["PATH", "HOME"],
      run: ["git"],
      sys: ["hostname"],
    },
    risk: new Map([["git_clean", "block"], ["git_push", "ask"]]),
    readOnly: new Set(["git_status", "git_log"]),
  }),
  manifest("notes", {
    sharing: "shared",
    auth: "env",
    requiredEnv: ["NOTES_TOKEN" as KeyName],
    args: ["--cache", "{home}/cache"],
    permissions: {
      net: ["api.notes.example:443"],
      read: [],
      write: ["{home}"],
      env: [],
      run: [],
      sys: ["homedir"],
    },
  }),
  manifest("code-host", {
    auth: "env",
    requiredEnv: ["CODEHOST_TOKEN" as KeyName],
    environment: { CODEHOST_CACHE: "{home}/.cache/code-host" },
    permissions: {
      net: ["api.code.example"],
      read: [],
      write: [],
      env: [],
      run: [],
      sys: [],
    },
    exposure: "deferred",
    toolExposure: new Map([["open_page", "direct"]]),
  }),
  manifest("maps", {
    source: { kind: "http", url: "https://maps.example/mcp?key={MAPS_KEY}" },
    headers: { "X-Maps": "key {MAPS_KEY}" },
    transport: "http",
    auth: "env",
    requiredEnv: ["MAPS_KEY" as KeyName],
  }),
  manifest("agent-message", {
    source: { kind: "builtin", name: "agent-message" },
    exposure: "codemode",
    toolExposure: new Map([["send_message", "direct"]]),
  }),
];

/** Makes an agent's record. */
export function agent(name: string, more: Partial<AgentRecord> = {}): AgentRecord {
  return {
    name: name as AgentName,
    channel: "webview",
    userEmail: `${name}@example.org` as Email,
    runtime: "runtime-b",
    isAdmin: false,
    tools: { add: [], remove: [] },
    dialKeys: [],
    ...more,
  };
}

const RUNTIMES: readonly RuntimeDefinition[] = (["runtime-a", "runtime-b"] as const).map((
  name,
) => ({
  name,
  summary: name,
  command: "{lib}/fleetctl-runtime",
  args: [],
  protocol: "acp",
  clientConfig: {
    path: name === "runtime-a" ? "{home}/.runtime-a.json" : "{home}/.runtime-b/agent/mcp.json",
    shape: name,
  },
  login: "none",
  env: {},
  state: ["{home}/.runtime-b"],
}));

/** The default runtime. */
export const RUNTIME_B = RUNTIMES[1]!;

/** The settings of every role. */
const ROLES: Facts["roles"] = {
  daemon: {},
  gateway: {
    cockpitListen: "127.0.0.1:8731",
    dialListen: "0.0.0.0:8735",
    rosterJson: '{"ledger":{"ada@example.org":"ada"},"admins":[]}\n',
    trust: "assertion",
    assertionKey: "assertion-secret",
    dialKeys: new Map([["ada" as AgentName, ["k1"]]]),
  },
  login: {
    listen: "0.0.0.0:8736",
    driver: "basic",
    hmacKey: "hmac-secret",
    assertionKey: "assertion-secret",
    basicUsers: "ada@example.org:basic$secret",
  },
  teamchat: {
    listen: "127.0.0.1:3978",
    registerListen: "10.0.0.5:3978",
    cloud: "/etc/fleetctl/cloud.yaml",
    cloudFile: "/etc/fleetctl/cloud.yaml",
    hosts: { keys: ["keys.example.org:443"], answers: ["service.example.org:443"] },
    agentsJson: "{}",
    settings: { TEAMS_APP_PASSWORD: "teams-secret" },
    dialKeys: new Map([["ada" as AgentName, ["k1"]]]),
  },
  dial: {
    registerUrl: "ws://127.0.0.1:8735",
    teamchatUrl: "ws://10.0.0.5:3978/register",
  },
  host: { registerUrl: "ws://127.0.0.1:8735", publicKey: "k".repeat(43) },
};

/** The settings files of agents, and the one that they share. */
function envFiles(paths: Paths, agents: readonly AgentRecord[]): Facts["env"] {
  return [
    {
      path: paths.sharedEnv,
      content: "NOTES_TOKEN=shared-secret\nMAPS_KEY=maps-secret\n",
      mode: 0o640,
      owner: { user: "root", group: "agents" },
      secret: true,
    },
    ...agents.map((each) => ({
      path: paths.agentEnv(each.name),
      content: `CODEHOST_TOKEN=${each.name}-secret\nMAPS_KEY=k/${each.name}\n`,
      mode: 0o640,
      owner: { user: "root", group: each.name },
      secret: true,
    })),
  ];
}

/** Makes facts: which agent has which MCPs, under which root. */
export function facts(
  wired: Readonly<Record<string, readonly string[]>>,
  more: Partial<Facts> & { readonly root?: string; readonly records?: readonly AgentRecord[] } = {},
): Facts {
  const { root = "/r", records, ...rest } = more;
  const paths = pathsUnder(root);
  const agents = records ?? Object.keys(wired).sort().map((name) => agent(name));
  return {
    paths,
    hostname: "atlas" as HostName,
    rootless: root !== "/",
    agents,
    catalog: new Map(MANIFESTS.map((each) => [each.name, each])),
    wired: new Map(
      Object.entries(wired).map(([name, mcps]) => [name as AgentName, mcps as readonly McpName[]]),
    ),
    runtimes: new Map(RUNTIMES.map((each) => [each.name, each])),
    env: envFiles(paths, agents),
    roles: ROLES,
    shape: { kind: "bundle", dir: paths.lib, denoDir: paths.at("/var/cache/fleetctl/deno") },
    workspace: "/srv/project",
    ...rest,
  };
}
