/**
 * Every absolute path of the product, as a function of the root prefix. No I/O. `docs/storage.md`
 * describes the layout.
 *
 * @module
 */

/** The whole layout under one root. */
export type Paths = ReturnType<typeof pathsUnder>;

/** Prefixes a path of a real host with the root. */
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

/** Files that the package installs. */
function programPaths(at: At) {
  return {
    /** Program files: the pinned Deno and one launcher per role. */
    lib: at("/usr/lib/fleetctl"),
    deno: at("/usr/lib/fleetctl/deno"),
    /** Build output of the cockpit page. */
    web: at("/usr/lib/fleetctl/web"),
    program: (name: string) => at(`/usr/lib/fleetctl/${name}`),
    /** Permission sets that belong to the programs; no setting of a host changes them. */
    programPermissions: at("/usr/lib/fleetctl/permissions.json"),
  };
}

/** What operators configure, and what is rendered from it. */
function settingPaths(at: At) {
  return {
    etc: at("/etc/fleetctl"),
    hostFile: at("/etc/fleetctl/host.yaml"),
    /** Which roles run on this host and where they listen; written by `up` and by `… install`. */
    rolesFile: at("/etc/fleetctl/roles.yaml"),
    hostKey: at("/etc/fleetctl/host.key"),
    /** User name and password of the login that `up` has created, 0600. */
    loginAccount: at("/etc/fleetctl/login.txt"),
    /** Description of a private cloud of the chat platform; written by `teams-gateway install`. */
    teamsCloudFile: at("/etc/fleetctl/teams-cloud.yaml"),
    /** Maps of the ledger: a large one for team chat, and the one that the gateway follows. */
    teamsAgents: at("/etc/fleetctl/teams-agents.json"),
    webviewLedger: at("/etc/fleetctl/webview-ledger.json"),
    defaultsFile: at("/etc/fleetctl/defaults.yaml"),
    runtimesDir: at("/etc/fleetctl/runtimes.d"),
    /** This host's prices of models, for `fleetctl usage`; written by a person. */
    pricesFile: at("/etc/fleetctl/prices.yaml"),
    /** Spend ceilings of this host; written by `ceilings host set`. */
    ceilingsFile: at("/etc/fleetctl/ceilings.yaml"),
    dialKeys: at("/etc/fleetctl/dial-keys.json"),
    /** Dial key of the host's own unit, 0600 root:root; the unit gets a copy as a credential. */
    hostDialKey: at("/etc/fleetctl/host-dial.key"),
    envDir: at("/etc/fleetctl/env"),
    env: (name: string) => at(`/etc/fleetctl/env/${name}.env`),
    agentEnv: (agent: string) => at(`/etc/fleetctl/env/agent-${agent}.env`),
    /** How this host reaches its package registry: proxies, certificates, npm settings. */
    registryEnv: at("/etc/fleetctl/env/registry.env"),
    sharedEnv: at("/etc/fleetctl/env/mcp-shared.env"),
    /** The two host-operation keys, 0600 root:root, never rendered elsewhere. */
    hostOpKeys: at("/etc/fleetctl/host-op.env"),
    /** Folder of the rendered spend ceilings of agents. */
    agentCeilings: at("/etc/fleetctl/ceilings"),
    /** Rendered spend ceilings of one agent; absent for none. */
    agentCeiling: (agent: string) => at(`/etc/fleetctl/ceilings/${agent}`),
    /** Folder of the rendered rules of the permission gate. */
    gates: at("/etc/fleetctl/gate"),
    /** Rendered rules of the permission gate of one MCP. */
    gate: (mcp: string) => at(`/etc/fleetctl/gate/${mcp}.json`),
    units: at("/etc/systemd/system"),
  };
}

/** State that survives a reboot: the ledger, the secrets, and the programs' data. */
function statePaths(at: At) {
  return {
    state: at("/var/lib/fleetctl"),
    /** Rendered permission sets: one file for the host's roles, and one for each agent. */
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
    /** Cache of the parsed YAML of the ledger and the catalog, shared by successive verbs. */
    yamlCache: at("/var/lib/fleetctl/kept-yaml.json"),
    /** Trial installs of server versions: one folder per trial, removed at its end. */
    tries: at("/var/lib/fleetctl/tries"),
    locks: at("/var/lib/fleetctl/locks"),
    /** What the agents of this host have spent, by agent, 0600; and their sums, for dial units. */
    hostSpending: at("/var/lib/fleetctl/host-spending.json"),
    hostCeilings: at("/var/lib/fleetctl/host-ceilings.json"),
    /** Disk space held in reserve for a full disk; `gc` frees it first. */
    reserve: at("/var/lib/fleetctl/reserve"),
    /** Unfinished `agents remove` operations, and the homes that they archived. */
    removal: (agent: string) => at(`/var/lib/fleetctl/removing/${agent}.json`),
    archiveDir: at("/var/lib/fleetctl/archive"),
    /** Socket where the team-chat receiver hands over the messages that it accepted. */
    teamchatHandover: at("/var/lib/fleetctl/teamchat-receiver/handover.sock"),
    /**
     * Messages that the receiver accepted and has not handed over. Removed when the receiver stops
     * with an empty spool.
     */
    teamchatSpool: at("/var/lib/fleetctl/teamchat-receiver/spool.db"),
    role: (role: string) => at(`/var/lib/fleetctl/${role}`),
  };
}

/** Sockets and other runtime files; a reboot removes them. */
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

/** Files in an agent's home. */
function homePaths(at: At) {
  return {
    home: (agent: string) => at(`/home/${agent}`),
    /** State of an agent's dial unit: outbox and dial key. */
    dialState: (agent: string) => at(`/home/${agent}/.fleetctl/dial`),
    /** Journals of the agent's running turns, written by the built-in runtime. */
    journals: (agent: string) => at(`/home/${agent}/.fleetctl/dial/journal`),
    /** Socket on which the dial unit accepts messages from its own agent. */
    dialSocket: (agent: string) => at(`/home/${agent}/.fleetctl/dial/local.sock`),
    runtimeA: (agent: string) => at(`/home/${agent}/.runtime-a.json`),
    runtimeB: (agent: string) => at(`/home/${agent}/.runtime-b/agent/mcp.json`),
    runtimeBDir: (agent: string) => at(`/home/${agent}/.runtime-b/agent`),
  };
}
