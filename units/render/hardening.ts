/**
 * The sandbox around each kind of service, as data: every key with its reason, which the rendered
 * unit shows above the key. No I/O. Deno confines JavaScript; these keys confine Deno itself and
 * its child processes.
 *
 * Intentionally absent: `MemoryDenyWriteExecute` (V8 compiles at run time) and `IPAddressDeny`
 * (servers' hosts are names, and Deno already restricts servers to those).
 *
 * @module
 */

import type { UnitEntry } from "core/text/unit_file.ts";

/** Keys that suit every fleetctl service. */
const COMMON: readonly UnitEntry[] = [
  { key: "NoNewPrivileges", value: "yes", why: "No setuid program gives more than the user has" },
  { key: "ProtectClock", value: "yes", why: "Time decides expiries; no service sets it" },
  { key: "ProtectKernelLogs", value: "yes", why: "The kernel log names addresses and processes" },
  { key: "ProtectKernelModules", value: "yes", why: "No service loads kernel code" },
  { key: "RestrictRealtime", value: "yes", why: "Real-time scheduling can starve the host" },
  { key: "LockPersonality", value: "yes", why: "No service needs another execution domain" },
];

/** Keys for services that need only files and sockets of the machine. */
const CONFINED: readonly UnitEntry[] = [
  {
    key: "CapabilityBoundingSet",
    value: "",
    why: "No capability is needed, and none can be gained",
  },
  { key: "AmbientCapabilities", value: "", why: "No capability is passed to children" },
  { key: "ProtectKernelTunables", value: "yes", why: "/proc/sys and /sys are read-only" },
  { key: "ProtectControlGroups", value: "yes", why: "Limits cannot be lifted from inside" },
  {
    key: "ProtectHostname",
    value: "yes",
    why: "The hostname is part of the identity of this host",
  },
  {
    key: "RestrictSUIDSGID",
    value: "yes",
    why: "No file can be created that runs with its owner's rights",
  },
  { key: "PrivateDevices", value: "yes", why: "No access to raw devices" },
  { key: "PrivateTmp", value: "yes", why: "Its /tmp is private" },
  { key: "UMask", value: "0077", why: "Only the service can access its new files" },
];

const STRICT_SYSTEM: UnitEntry = {
  key: "ProtectSystem",
  value: "strict",
  why: "The file system is read-only except for the folders named here",
};

/** Seccomp and namespaces, for services whose children build no sandbox. */
const NO_OWN_SANDBOX: readonly UnitEntry[] = [
  { key: "RestrictNamespaces", value: "yes", why: "User namespaces expose much kernel code" },
  { key: "SystemCallArchitectures", value: "native", why: "No second system-call table" },
  {
    key: "SystemCallFilter",
    value: "@system-service",
    why: "The calls of ordinary services; others fail with EPERM",
  },
  { key: "SystemCallErrorNumber", value: "EPERM", why: "A refused call is an error, not a crash" },
];

/**
 * Seccomp for services whose children may build a sandbox: forbids calls that no child ever needs.
 */
const NO_MACHINE_CALLS: readonly UnitEntry[] = [
  { key: "SystemCallArchitectures", value: "native", why: "No second system-call table" },
  {
    key: "SystemCallFilter",
    value: "~@clock @cpu-emulation @module @obsolete @raw-io @reboot @swap",
    why: "No calls on the machine itself; namespaces and seccomp remain for the sandbox of a child",
  },
  { key: "SystemCallErrorNumber", value: "EPERM", why: "A refused call is an error, not a crash" },
];

/**
 * Capabilities of the daemon's verbs: access files of every owner, become an agent, end a child.
 */
const VERB_CAPABILITIES: UnitEntry = {
  key: "CapabilityBoundingSet",
  value: "CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID CAP_KILL " +
    "CAP_SETGID CAP_SETUID CAP_AUDIT_WRITE",
  why:
    "Verbs write files of every owner, become an agent, and create accounts; no other root rights",
};

/**
 * Keys that cover a part of `/proc`. A user namespace may mount its own `/proc` only where it sees
 * an uncovered one (mount_namespaces(7)).
 */
const COVERS_PROC = ["ProtectKernelLogs", "ProtectKernelTunables", "ProtectHostname"];

const OTHER_PROCESSES_HIDDEN: readonly UnitEntry[] = [
  { key: "ProtectProc", value: "invisible", why: "Other users' processes are not listed" },
  { key: "ProcSubset", value: "pid", why: "Machine details in /proc are hidden" },
];

/** A browser confines its renderers in these namespaces; its other children need no more. */
const SANDBOX_NAMESPACES: UnitEntry = {
  key: "RestrictNamespaces",
  value: "user pid net",
  why: "Only the kinds that a browser's own sandbox uses",
};

/** bubblewrap creates one of each kind, and then forbids the server to create another. */
const VIEW_NAMESPACES: UnitEntry = {
  key: "RestrictNamespaces",
  value: "user mnt pid ipc uts net cgroup",
  why: "Its command builds its view with these; the server itself can create none",
};

function families(value: string, why: string): UnitEntry {
  return { key: "RestrictAddressFamilies", value, why };
}

const INET_FAMILIES = families(
  "AF_UNIX AF_INET AF_INET6 AF_NETLINK",
  "Unix sockets, IP, and queries for the addresses of this host; no raw sockets",
);

/** Returns the block of a role that listens on IP and owns a state folder, such as the gateway. */
export function roleHardening(): readonly UnitEntry[] {
  return [
    ...COMMON,
    ...CONFINED,
    STRICT_SYSTEM,
    { key: "ProtectHome", value: "yes", why: "A role does not read homes" },
    { key: "RemoveIPC", value: "yes", why: "Nothing outlives the service" },
    ...OTHER_PROCESSES_HIDDEN,
    INET_FAMILIES,
    ...NO_OWN_SANDBOX,
  ];
}

/**
 * Returns the block of an agent's dial unit. The agent works on this host with its own tools, so
 * the file system stays as its Unix user sees it. The block only prevents it from gaining
 * privileges. With `buildsSandbox` its commands mount their own `/proc`.
 */
export function agentHardening(
  { buildsSandbox }: { readonly buildsSandbox: boolean },
): readonly UnitEntry[] {
  const all = agentEntries();
  return buildsSandbox ? all.filter(({ key }) => !COVERS_PROC.includes(key)) : all;
}

function agentEntries(): readonly UnitEntry[] {
  return [
    ...COMMON,
    {
      key: "CapabilityBoundingSet",
      value: "",
      why: "More rights are available only through the daemon, which requests approval",
    },
    { key: "ProtectKernelTunables", value: "yes", why: "/proc/sys and /sys are read-only" },
    { key: "ProtectControlGroups", value: "yes", why: "Limits cannot be lifted from inside" },
    {
      key: "ProtectHostname",
      value: "yes",
      why: "The hostname is part of the identity of this host",
    },
    {
      key: "RestrictSUIDSGID",
      value: "yes",
      why: "No file can be created that runs with its owner's rights",
    },
    { key: "PrivateTmp", value: "yes", why: "Its /tmp is private" },
    { key: "ProtectSystem", value: "full", why: "Its user cannot write there anyway" },
    { key: "ProtectProc", value: "invisible", why: "Other agents' command lines are not listed" },
    families("AF_UNIX AF_INET AF_INET6 AF_NETLINK", "No raw, packet or other uncommon sockets"),
    ...NO_MACHINE_CALLS,
  ];
}

/**
 * Returns the block of the daemon: its children are whole verbs that run as root. `writable` are
 * the folders below /usr that verbs render into.
 */
export function daemonHardening(): readonly UnitEntry[] {
  return [
    ...COMMON,
    VERB_CAPABILITIES,
    { key: "AmbientCapabilities", value: "", why: "No capability is passed to children" },
    { key: "ProtectKernelTunables", value: "yes", why: "/proc/sys and /sys are read-only" },
    { key: "ProtectControlGroups", value: "yes", why: "Limits cannot be lifted from inside" },
    {
      key: "ProtectHostname",
      value: "yes",
      why: "The hostname is part of the identity of this host",
    },
    { key: "PrivateDevices", value: "yes", why: "No access to raw devices" },
    { key: "PrivateTmp", value: "yes", why: "Its /tmp is private" },
    { key: "ProtectSystem", value: "yes", why: "No verb changes the programs of the host" },
    families("AF_UNIX AF_INET AF_INET6 AF_NETLINK", "No raw or packet sockets"),
    {
      key: "RestrictSUIDSGID",
      value: "yes",
      why: "No file can be created that runs with its owner's rights",
    },
    ...NO_OWN_SANDBOX,
    { key: "UMask", value: "0077", why: "Modes are set when a file is written, not by the umask" },
  ];
}

/** Returns an entry with paths that need not exist. */
function paths(key: string, list: readonly string[], why: string): readonly UnitEntry[] {
  const words = list.map((path) => path.includes(" ") ? `"-${path}"` : `-${path}`);
  return words.length === 0 ? [] : [{ key, value: words.join(" "), why }];
}

/** Input of an MCP server's block. */
export interface ServerSandbox {
  /** Runs under a dynamic user, not as an agent. */
  readonly isShared: boolean;
  /** `run_as: root`: its manifest waives the sandbox. */
  readonly isRoot: boolean;
  /** Starts other programs (a browser builds its own sandbox from namespaces and seccomp). */
  readonly startsPrograms: boolean;
  /**
   * Its command builds its view with bubblewrap, which needs namespaces and an uncovered `/proc`.
   */
  readonly buildsView: boolean;
  /** Reaches hosts over the network. */
  readonly usesNetwork: boolean;
  /** Folders it may write to. */
  readonly writable: readonly string[];
  /** Paths that it does not see. */
  readonly closed: readonly string[];
}

/** Returns the block of an MCP server. */
export function serverHardening(of: ServerSandbox): readonly UnitEntry[] {
  const all = serverEntries(of);
  return of.buildsView ? all.filter(({ key }) => !COVERS_PROC.includes(key)) : all;
}

function serverEntries(of: ServerSandbox): readonly UnitEntry[] {
  if (of.isRoot) return COMMON;
  // bubblewrap, and programs that a server starts, need more of the kernel than the server itself.
  const startsPrograms = of.startsPrograms || of.buildsView;
  // ProtectSystem=strict does not cover /home, /root and /run/user.
  const home: UnitEntry = of.isShared
    ? { key: "ProtectHome", value: "yes", why: "A shared server does not read homes" }
    : {
      key: "ProtectHome",
      value: "read-only",
      why: "All homes are read-only, including the agent's own",
    };
  const network: readonly UnitEntry[] = of.usesNetwork || startsPrograms
    ? [families("AF_UNIX AF_INET AF_INET6 AF_NETLINK", "IP, unix sockets and the routing table")]
    : [
      families("AF_UNIX", "It uses only its own socket"),
      { key: "PrivateNetwork", value: "yes", why: "Its manifest names no host" },
    ];
  return [
    ...COMMON,
    ...CONFINED,
    STRICT_SYSTEM,
    home,
    ...paths("ReadWritePaths", of.writable, "The folders that its manifest lets it write to"),
    ...paths("InaccessiblePaths", of.closed, "State and sign-ins of others in the same home"),
    ...(startsPrograms ? [] : OTHER_PROCESSES_HIDDEN),
    ...network,
    ...(startsPrograms
      ? [...NO_MACHINE_CALLS, of.buildsView ? VIEW_NAMESPACES : SANDBOX_NAMESPACES]
      : NO_OWN_SANDBOX),
  ];
}

/**
 * Returns the block of a server that is tried out: unreviewed third-party code. It has no network,
 * sees only its own folders of the host, and leaves nothing behind.
 */
export function tryHardening(): readonly UnitEntry[] {
  return [
    ...COMMON,
    ...CONFINED,
    STRICT_SYSTEM,
    { key: "ProtectHome", value: "yes", why: "It does not read homes" },
    { key: "PrivateNetwork", value: "yes", why: "It has no network, the host included" },
    { key: "PrivateIPC", value: "yes", why: "No shared memory with other processes" },
    { key: "RemoveIPC", value: "yes", why: "Nothing outlives the trial" },
    ...OTHER_PROCESSES_HIDDEN,
    INET_FAMILIES,
    ...NO_OWN_SANDBOX,
  ];
}
