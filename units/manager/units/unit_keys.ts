/**
 * The table that states how the embedded service manager treats each unit key:
 *
 * - `honoured`
 * - `relaxed`: an ordinary user cannot have it; listed once at start
 * - `refused`: ignoring it would change what the unit does
 *
 * A key that is not listed is refused, so that every unit runs as it would under systemd. Keys that
 * start with `X-` are ignored, as in systemd, except for fleetctl's own.
 *
 * @module
 */

/** How a key is treated. */
export type KeyTreatment = "honoured" | "relaxed" | "refused";

/** One row of the table. */
export interface KeyRule {
  readonly treatment: KeyTreatment;
  /** For `relaxed`: what is missing without the key. For `refused`: why it cannot be ignored. */
  readonly why?: string;
  /** Ignoring the key changes nothing, so it is not listed at start. */
  readonly isSilent?: boolean;
}

/** Set in `[Service]`: the unit is active once its log says `"event":"ready"`. */
export const READY_KEY = "X-FleetctlReady";

const SANDBOX = "the sandbox of a unit needs privileges";
const IDENTITY = "everything runs as the user who started the manager";
const RESOURCES = "resource control needs a control group";
const NO_EFFECT = "has no effect on what runs";

const IGNORED: KeyRule = { treatment: "relaxed", why: NO_EFFECT, isSilent: true };

function honoured(...keys: readonly string[]): readonly (readonly [string, KeyRule])[] {
  return keys.map((key) => [key, { treatment: "honoured" }] as const);
}
function relaxed(why: string, ...keys: readonly string[]) {
  return keys.map((key) => [key, { treatment: "relaxed", why }] as const);
}
function ignored(...keys: readonly string[]) {
  return keys.map((key) =>
    [key, { treatment: "relaxed", why: NO_EFFECT, isSilent: true }] as const
  );
}
function refused(why: string, ...keys: readonly string[]) {
  return keys.map((key) => [key, { treatment: "refused", why }] as const);
}

const UNIT_RULES: ReadonlyMap<string, KeyRule> = new Map<string, KeyRule>([
  ...honoured("After", "Before", "Requires", "Wants", "BindsTo", "PartOf"),
  ...relaxed(SANDBOX, "JoinsNamespaceOf"),
  ...honoured("ConditionPathExists", "StartLimitBurst", "StartLimitIntervalSec"),
  ...ignored("Description", "Documentation", "CollectMode", "SourcePath"),
  ...relaxed("folders under the root are plain folders", "RequiresMountsFor"),
  ...relaxed("units that are stopped leave no jobs behind", "JobTimeoutSec", "IgnoreOnIsolate"),
  ...refused("units that exclude each other are not supported", "Conflicts"),
  ...refused("use Requires instead", "Requisite", "Upholds"),
  ...refused("starting a unit after the end of another is not supported", "OnFailure", "OnSuccess"),
  ...refused(
    "actions on the host are not supported",
    "StartLimitAction",
    "FailureAction",
    "SuccessAction",
  ),
  ...refused("each unit must list its ordering", "DefaultDependencies"),
]);

const INSTALL_RULES: ReadonlyMap<string, KeyRule> = new Map<string, KeyRule>([
  ...honoured("WantedBy"),
  ...refused("a unit has one name", "Alias"),
  ...refused("name each unit that is to be enabled", "Also", "RequiredBy", "DefaultInstance"),
]);

const SOCKET_RULES: ReadonlyMap<string, KeyRule> = new Map<string, KeyRule>([
  ...honoured("ListenStream", "SocketMode", "DirectoryMode", "Accept", "MaxConnections"),
  ...honoured("Backlog", "RemoveOnStop"),
  ...relaxed(IDENTITY, "SocketUser", "SocketGroup"),
  ...relaxed("MaxConnections is the limit", "MaxConnectionsPerSource"),
  ...relaxed("a server that cannot start is reported for each connection", "TriggerLimitBurst"),
  ...relaxed(
    "a server that cannot start is reported for each connection",
    "TriggerLimitIntervalSec",
  ),
  ...ignored("FileDescriptorName"),
  ...refused(
    "only unix streams are served",
    "ListenDatagram",
    "ListenSequentialPacket",
    "ListenFIFO",
  ),
  ...refused("the service of an Accept=yes socket is its own template", "Service"),
  ...refused(
    "commands of a socket are not supported",
    "ExecStartPre",
    "ExecStartPost",
    "ExecStopPre",
  ),
]);

const SERVICE_RULES: ReadonlyMap<string, KeyRule> = new Map<string, KeyRule>([
  ...honoured("Type", "ExecStart", "ExecStartPre", "RemainAfterExit", READY_KEY),
  ...honoured("Environment", "EnvironmentFile", "UnsetEnvironment", "WorkingDirectory"),
  ...honoured("Restart", "RestartSec", "RestartSteps", "RestartMaxDelaySec"),
  ...honoured("SuccessExitStatus", "RestartPreventExitStatus", "RestartForceExitStatus"),
  ...honoured("TimeoutSec", "TimeoutStartSec", "TimeoutStopSec", "RuntimeMaxSec"),
  ...honoured("KillMode", "KillSignal", "MemoryMax", "LoadCredential"),
  ...honoured("StandardInput", "StandardOutput", "StandardError"),
  ...honoured("RuntimeDirectory", "StateDirectory", "CacheDirectory", "LogsDirectory"),
  ...honoured("RuntimeDirectoryMode", "StateDirectoryMode", "CacheDirectoryMode"),
  ...honoured("LogsDirectoryMode", "UMask"),
  ...relaxed(IDENTITY, "User", "Group", "DynamicUser", "SupplementaryGroups", "PAMName"),
  ...relaxed("run folders are kept until the root is cleaned", "RuntimeDirectoryPreserve"),
  ...relaxed("the log file has the unit's name", "SyslogIdentifier", "SyslogLevel"),
  ...relaxed("a single unit cannot be reloaded", "ExecReload"),
  ...relaxed(RESOURCES, "MemoryHigh", "MemorySwapMax", "MemoryLow", "MemoryMin", "TasksMax"),
  ...relaxed(RESOURCES, "CPUQuota", "CPUWeight", "IOWeight", "Slice", "Delegate", "ManagedOOMSwap"),
  ...relaxed(RESOURCES, "OOMPolicy", "OOMScoreAdjust", "Nice", "CPUSchedulingPolicy"),
  ...relaxed(RESOURCES, "IOSchedulingClass", "ManagedOOMMemoryPressure", "MemoryAccounting"),
  ...relaxed("limits are those of the manager", "LimitNOFILE", "LimitNPROC", "LimitCORE"),
  ...relaxed("limits are those of the manager", "LimitMEMLOCK", "LimitFSIZE", "LimitAS"),
  ...relaxed(SANDBOX, "AmbientCapabilities", "CapabilityBoundingSet", "NoNewPrivileges"),
  ...relaxed(SANDBOX, "SecureBits", "ProtectSystem", "ProtectHome", "ProtectClock", "ProtectProc"),
  ...relaxed(SANDBOX, "ProtectKernelLogs", "ProtectKernelModules", "ProtectKernelTunables"),
  ...relaxed(SANDBOX, "ProtectControlGroups", "ProtectHostname", "ProcSubset", "PrivateTmp"),
  ...relaxed(SANDBOX, "PrivateDevices", "PrivateNetwork", "PrivateUsers", "PrivateIPC"),
  ...relaxed(SANDBOX, "PrivateMounts", "MountAPIVFS", "RemoveIPC", "KeyringMode"),
  ...relaxed(SANDBOX, "RestrictAddressFamilies", "RestrictNamespaces", "RestrictRealtime"),
  ...relaxed(SANDBOX, "RestrictSUIDSGID", "RestrictFileSystems", "LockPersonality"),
  ...relaxed(SANDBOX, "MemoryDenyWriteExecute", "SystemCallFilter", "SystemCallArchitectures"),
  ...relaxed(SANDBOX, "SystemCallErrorNumber", "SystemCallLog", "DevicePolicy", "DeviceAllow"),
  ...relaxed(SANDBOX, "ReadWritePaths", "ReadOnlyPaths", "InaccessiblePaths", "ExecPaths"),
  ...relaxed(SANDBOX, "NoExecPaths", "TemporaryFileSystem", "BindPaths", "BindReadOnlyPaths"),
  ...relaxed(SANDBOX, "IPAddressAllow", "IPAddressDeny", "SocketBindAllow", "SocketBindDeny"),
  ...relaxed(SANDBOX, "CoredumpFilter", "NetworkNamespacePath"),
  ...refused("a unit is stopped by a signal only", "ExecStop", "ExecStopPost", "FinalKillSignal"),
  ...refused("all processes of a unit are always killed", "SendSIGKILL"),
  ...refused("commands after the start are not supported", "ExecStartPost", "ExecCondition"),
  ...refused(
    "use X-FleetctlReady=log for readiness",
    "NotifyAccess",
    "PIDFile",
    "BusName",
    "GuessMainPID",
  ),
  ...refused("watchdogs are not supported", "WatchdogSec", "WatchdogSignal"),
  ...refused("descriptors are not passed on", "Sockets", "FileDescriptorStoreMax", "OpenFile"),
  ...refused("write the variables into the unit", "PassEnvironment"),
  ...refused("another root would not contain the paths of the unit", "RootDirectory", "RootImage"),
  ...refused("a credential comes from a file", "SetCredential", "LoadCredentialEncrypted"),
  ...refused("a credential comes from a file", "SetCredentialEncrypted", "ImportCredential"),
  ...refused("units have no terminal", "TTYPath", "TTYReset", "StandardInputText"),
]);

/** The table: section, key, rule. */
export const UNIT_KEYS: ReadonlyMap<string, ReadonlyMap<string, KeyRule>> = new Map([
  ["Unit", UNIT_RULES],
  ["Install", INSTALL_RULES],
  ["Socket", SOCKET_RULES],
  ["Service", SERVICE_RULES],
]);

/** Returns the rule of a key; sections and keys that are not in the table are refused. */
export function judgeKey(section: string, key: string): KeyRule {
  if (section.startsWith("X-")) return IGNORED;
  const rules = UNIT_KEYS.get(section);
  if (rules === undefined) {
    return { treatment: "refused", why: `[${section}] is not a known section` };
  }
  const rule = rules.get(key);
  if (rule !== undefined) return rule;
  if (key.startsWith("X-Fleetctl")) {
    return { treatment: "refused", why: "not a known X-Fleetctl key" };
  }
  if (key.startsWith("X-")) return IGNORED;
  return { treatment: "refused", why: "not a known key" };
}
