/**
 * Every absolute path of the product, as a function of the root prefix.
 * No I/O. The layout is described in `docs/storage.md`.
 *
 * @module
 */

/** The whole layout under one root. */
export type Paths = ReturnType<typeof pathsUnder>;

/** Puts a path of a real host under the root. */
type At = (path: string) => string;

/** Returns the layout under `root` (`/` for a real host). */
export function pathsUnder(root: string) {
  const prefix = root === "/" ? "" : root.replace(/\/+$/, "");
  const at: At = (path) => `${prefix}${path}`;
  return {
    root: prefix === "" ? "/" : prefix,
    at,
    ...programPaths(at),
    ...settingPaths(at),
    ...statePaths(at),
    ...runPaths(at),
    logs: at("/var/log/fleetctl"),
    ...homePaths(at),
  };
}

/** What the package brings. */
function programPaths(at: At) {
  return {
    /** Program files: the pinned Deno and one launcher per role. */
    lib: at("/usr/lib/fleetctl"),
    deno: at("/usr/lib/fleetctl/deno"),
    /** The page of the cockpit, built. */
    web: at("/usr/lib/fleetctl/web"),
    program: (name: string) => at(`/usr/lib/fleetctl/${name}`),
    /** Permission sets that no setting of a host changes: they belong to the programs. */
    programPermissions: at("/usr/lib/fleetctl/permissions.json"),
  };
}

/** What operators set, and what is rendered of it. */
function settingPaths(at: At) {
  return {
    etc: at("/etc/fleetctl"),
    hostFile: at("/etc/fleetctl/host.yaml"),
    /** Which roles run on this host and where they listen; written by `up` and by `… install`. */
    rolesFile: at("/etc/fleetctl/roles.yaml"),
    hostKey: at("/etc/fleetctl/host.key"),
    /** Name and password of the login that `up` has made, 0600. */
    loginAccount: at("/etc/fleetctl/login.txt"),
    /** Description of a private cloud of the chat platform; written by `teams-gateway install`. */
    teamsCloudFile: at("/etc/fleetctl/teams-cloud.yaml"),
    /** Maps of the ledger that are too long for a variable of the environment. */
    teamsAgents: at("/etc/fleetctl/teams-agents.json"),
    webviewLedger: at("/etc/fleetctl/webview-ledger.json"),
    defaultsFile: at("/etc/fleetctl/defaults.yaml"),
    runtimesDir: at("/etc/fleetctl/runtimes.d"),
    dialKeys: at("/etc/fleetctl/dial-keys.json"),
    /** Dial key of the host's own unit, 0600 root:root; the unit gets a copy as a credential. */
    hostDialKey: at("/etc/fleetctl/host-dial.key"),
    envDir: at("/etc/fleetctl/env"),
    env: (name: string) => at(`/etc/fleetctl/env/${name}.env`),
    agentEnv: (agent: string) => at(`/etc/fleetctl/env/agent-${agent}.env`),
    /** How this site reaches its package registry: proxies, certificates, npm settings. */
    registryEnv: at("/etc/fleetctl/env/registry.env"),
    sharedEnv: at("/etc/fleetctl/env/mcp-shared.env"),
    /** The two host-operation keys, 0600 root:root, never rendered elsewhere. */
    hostOpKeys: at("/etc/fleetctl/host-op.env"),
    /** Folder of the rendered rules of the permission gate. */
    gates: at("/etc/fleetctl/gate"),
    /** Rendered rules of the permission gate of one MCP. */
    gate: (mcp: string) => at(`/etc/fleetctl/gate/${mcp}.json`),
    units: at("/etc/systemd/system"),
  };
}

/** What outlives a boot: the ledger, the secrets, and what programs keep. */
function statePaths(at: At) {
  return {
    state: at("/var/lib/fleetctl"),
    /** Rendered permission sets: those of the host's roles, and one file for each agent. */
    permissionsDir: at("/var/lib/fleetctl/permissions"),
    permissions: at("/var/lib/fleetctl/permissions/host.json"),
    agentPermissions: (agent: string) => at(`/var/lib/fleetctl/permissions/agent-${agent}.json`),
    repo: at("/var/lib/fleetctl/repo"),
    agentsDir: at("/var/lib/fleetctl/repo/agents.d"),
    agentShard: (agent: string) => at(`/var/lib/fleetctl/repo/agents.d/${agent}.yaml`),
    hostsDir: at("/var/lib/fleetctl/repo/hosts.d"),
    hostShard: (host: string) => at(`/var/lib/fleetctl/repo/hosts.d/${host}.yaml`),
    overlayCatalog: at("/var/lib/fleetctl/repo/catalog"),
    secretsFile: at("/var/lib/fleetctl/repo/secrets.age"),
    recipientsFile: at("/var/lib/fleetctl/repo/recipients"),
    runtimeCatalog: at("/var/lib/fleetctl/catalog"),
    deploy: (mcp: string) => at(`/var/lib/fleetctl/deploy/${mcp}`),
    deployDir: at("/var/lib/fleetctl/deploy"),
    vendorCache: at("/var/lib/fleetctl/vendor-cache"),
    /** Parsed YAML of the ledger and the catalog, kept from one verb to the next. */
    keptYaml: at("/var/lib/fleetctl/kept-yaml.json"),
    /** Where versions of servers are tried out; one folder a try, gone when it has ended. */
    tries: at("/var/lib/fleetctl/tries"),
    locks: at("/var/lib/fleetctl/locks"),
    /** Room that is held back for a full disk; `gc` gives it up first. */
    reserve: at("/var/lib/fleetctl/reserve"),
    /** What `agents remove` has begun and not ended, and homes that it has archived. */
    removal: (agent: string) => at(`/var/lib/fleetctl/removing/${agent}.json`),
    archiveDir: at("/var/lib/fleetctl/archive"),
    /** Where the receiving half of the team-chat gateway hands over what it took. */
    teamchatHandover: at("/var/lib/fleetctl/teamchat-receiver/handover.sock"),
    /** What it took and has not handed over; gone when it ended with nothing left. */
    teamchatSpool: at("/var/lib/fleetctl/teamchat-receiver/spool.db"),
    role: (role: string) => at(`/var/lib/fleetctl/${role}`),
  };
}

/** Sockets, gone with a boot. */
function runPaths(at: At) {
  return {
    run: at("/run/fleetctl"),
    daemonSocket: at("/run/fleetctl/fleetctl.sock"),
    /** Control socket of the embedded service manager. */
    managerSocket: at("/run/fleetctl/manager.sock"),
    managerState: at("/run/fleetctl/manager"),
    mcpRun: at("/run/mcp"),
    sharedMcpSocket: (mcp: string) => at(`/run/mcp/${mcp}.sock`),
    agentMcpSocket: (mcp: string, agent: string) => at(`/run/mcp/${mcp}-${agent}.sock`),
  };
}

/** What is kept in the home of an agent. */
function homePaths(at: At) {
  return {
    home: (agent: string) => at(`/home/${agent}`),
    /** State of an agent's dial unit: outbox and dial key. */
    dialState: (agent: string) => at(`/home/${agent}/.fleetctl/dial`),
    /** Where the dial unit takes messages of its own agent. */
    dialSocket: (agent: string) => at(`/home/${agent}/.fleetctl/dial/local.sock`),
    runtimeA: (agent: string) => at(`/home/${agent}/.runtime-a.json`),
    runtimeB: (agent: string) => at(`/home/${agent}/.runtime-b/agent/mcp.json`),
    runtimeBDir: (agent: string) => at(`/home/${agent}/.runtime-b/agent`),
  };
}
