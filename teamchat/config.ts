/**
 * Settings of the team-chat gateway. Reports all faults of single settings at once; if there are
 * none, all faults of combinations. No I/O: the caller passes the text of the file that describes a
 * private cloud.
 *
 * With `TEAMS_APP_ID` it runs in cloud mode; without it, in local mode, which checks no token and
 * therefore listens on loopback only. An incomplete cloud configuration is a fault, never local
 * mode.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { isLoopbackName } from "core/net/host_name.ts";
import { isPrivate, parseIp } from "core/net/ip.ts";
import { teamsAgentsType } from "core/ledger/maps.ts";
import { type AgentName, type ObjectId, parseObjectId } from "core/names.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { ListenAddress } from "core/ports/sockets.ts";
import { err, ok, type Result } from "core/result.ts";
import {
  duration,
  integer,
  list,
  listenAddress,
  oneOf,
  parsed,
  text,
} from "core/settings/setting_types.ts";
import { defaulted, type Env, optional, readSettings, required } from "core/settings/settings.ts";
import type { ConversationType } from "core/teamchat/activity.ts";
import { fileOrigin } from "core/net/file_url.ts";
import { type Cloud, CLOUD_NAMES, knownCloud, parseCloud } from "core/teamchat/cloud.ts";

/** The role's settings. `--help` prints them. */
export const TEAMCHAT_SETTINGS = {
  root: defaulted("FLEETCTL_ROOT", text(), { fallback: "/", doc: "Prefix of every path." }),
  appId: optional("TEAMS_APP_ID", parsed(parseObjectId), {
    doc: "Application id of the bot; switches to cloud mode.",
  }),
  appSecret: optional("TEAMS_APP_PASSWORD", text(), {
    isSecret: true,
    doc: "Client secret of the application, for answers.",
    requiredWhen: {
      test: (env) => (env.TEAMS_APP_ID ?? "") !== "",
      words: "when TEAMS_APP_ID is set",
    },
  }),
  secretExpires: optional("TEAMS_APP_PASSWORD_EXPIRES", { ...text(), wanted: "must be a date" }, {
    doc: "Expiry date of the client secret, such as 2027-03-31; a warning comes before it.",
  }),
  tenantId: optional("TEAMS_APP_TENANT_ID", parsed(parseObjectId), {
    doc: "Tenant of the bot and of its users; without it any tenant's users may be owners.",
  }),
  aliases: defaulted("TEAMS_APP_ALIASES", list(text()), {
    fallback: "",
    doc: "Additional audiences to accept in tokens, such as api://botid-<id>; compared exactly.",
  }),
  agents: required("TEAMS_AGENTS", teamsAgentsType(), {
    doc: "JSON object: object id of an owner to agent.",
  }),
  cloud: defaulted("TEAMS_CLOUD", text(), {
    fallback: "public",
    doc: `${CLOUD_NAMES.join(", ")}, or the path of a YAML file that describes a private cloud.`,
  }),
  conversations: defaulted(
    "TEAMS_CONVERSATIONS",
    list(oneOf(["personal", "groupChat", "channel"])),
    { fallback: "personal", doc: "Kinds of conversations in which owners may write." },
  ),
  fileHosts: defaulted("TEAMS_FILE_HOSTS", list(text()), {
    fallback: "",
    doc: "Hosts where the tenant stores files, such as contoso-my.sharepoint.com; no wildcards.",
  }),
  listen: defaulted("TEAMS_LISTEN", listenAddress(), {
    fallback: "127.0.0.1:3978",
    doc: "Address to which the HTTPS front forwards /api/messages.",
  }),
  registerListen: optional("TEAMS_REGISTER_LISTEN", listenAddress(), {
    doc: "Where agents register; port 3978 of this host's private address when unset.",
  }),
  registerNames: defaulted("TEAMS_REGISTER_NAMES", list(text()), {
    fallback: "",
    doc: "Additional host names under which agents reach /register.",
  }),
  registerToken: optional("TEAMS_REGISTER_TOKEN", text(), {
    isSecret: true,
    doc: "Shared token with which any agent can register; for clients that have no key.",
  }),
  receiver: optional("TEAMS_RECEIVER", oneOf(["apart"]), {
    doc: "apart: a separate process receives messages; this one has no public listener.",
  }),
  sendsPerSecond: defaulted("TEAMS_SENDS_PER_SECOND", integer(1, 10_000), {
    fallback: "40",
    doc: "Requests per second; the platform allows 50 per bot and tenant.",
  }),
  offlineMs: defaulted("TEAMS_OFFLINE_TTL", duration({ minMs: 10_000 }), {
    fallback: "12h",
    doc: "How long a message waits for an agent that is not connected.",
  }),
} as const;

/** The gateway's mode and identity on the platform. */
export type TeamchatMode =
  | { readonly kind: "local" }
  | {
    readonly kind: "cloud";
    readonly cloud: Cloud;
    readonly appId: string;
    readonly secret: string;
    readonly tenantId: string | undefined;
    /** The application id and its aliases. */
    readonly audiences: ReadonlySet<string>;
  };

/** What the gateway runs with. */
export interface TeamchatConfig {
  readonly paths: Paths;
  readonly mode: TeamchatMode;
  /** Milliseconds since the epoch at which the client secret expires. */
  readonly secretEnds: number | undefined;
  readonly agents: ReadonlyMap<ObjectId, AgentName>;
  /** The file with the owners, which is watched for changes; undefined when there is none. */
  readonly agentsFile: string | undefined;
  readonly conversations: ReadonlySet<ConversationType>;
  /** Origins from which files are downloaded, and to which they are uploaded. */
  readonly fileOrigins: ReadonlySet<string>;
  readonly listen: ListenAddress;
  readonly registerListen: ListenAddress;
  readonly registerNames: readonly string[];
  readonly registerToken: string | undefined;
  /** Whether a separate process receives and hands activities over through a socket. */
  readonly isReceiverSeparate: boolean;
  /** Requests per second to the platform, for all conversations together. */
  readonly sendsPerSecond: number;
  readonly offlineMs: number;
  /** Warnings about settings, one sentence each; logged at start. */
  readonly warnings: readonly string[];
}

/** Inputs from the machine that the settings depend on. */
export interface ConfigInputs {
  /** A private address of this host; undefined when it has none. */
  readonly privateAddress: string | undefined;
  /** Text of the file that `TEAMS_CLOUD` names; undefined when there is none. */
  readonly cloudFile: string | undefined;
  /**
   * Path of the file that `TEAMS_AGENTS` names; undefined or absent when the setting contains the
   * map itself.
   */
  readonly agentsFile?: string | undefined;
}

/** Shortest shared token that is accepted. */
const SHARED_TOKEN_LENGTH_MIN = 24;

/** Returns the path in `TEAMS_CLOUD`, if it contains one. */
export function cloudFilePath(env: Env): string | undefined {
  const given = env.TEAMS_CLOUD ?? "";
  return given.includes("/") ? given : undefined;
}

/**
 * Reads the settings. The details of the refusal list all faults of single settings or, if there
 * are none, all faults of combinations.
 */
export function readTeamchatConfig(env: Env, inputs: ConfigInputs): Result<TeamchatConfig> {
  const read = readSettings(TEAMCHAT_SETTINGS, env);
  const cloud = readCloud(env, inputs);
  const faults = [...(read.ok ? [] : read.error.details), ...(cloud.ok ? [] : cloud.error)];
  if (!read.ok || !cloud.ok) return invalid(faults);
  const values = read.value;
  const registerListen = values.registerListen ??
    { hostname: inputs.privateAddress ?? "127.0.0.1", port: values.listen.port };
  const ends = values.secretExpires === undefined ? undefined : Date.parse(values.secretExpires);
  faults.push(...jointFaults({ ...values, registerListen }, ends, env));
  if (faults.length > 0) return invalid(faults);
  const mode: TeamchatMode = values.appId === undefined ? { kind: "local" } : {
    kind: "cloud",
    cloud: cloud.value,
    appId: values.appId,
    secret: values.appSecret ?? "",
    tenantId: values.tenantId,
    audiences: new Set([values.appId, ...values.aliases]),
  };
  return ok({
    paths: pathsUnder(values.root),
    mode,
    secretEnds: ends,
    agents: values.agents,
    agentsFile: inputs.agentsFile,
    conversations: new Set(values.conversations),
    fileOrigins: new Set(values.fileHosts.map(fileOrigin).filter((each) => each !== undefined)),
    listen: values.listen,
    registerListen,
    registerNames: values.registerNames.map((name) => name.toLowerCase()),
    registerToken: values.registerToken,
    isReceiverSeparate: values.receiver === "apart",
    sendsPerSecond: values.sendsPerSecond,
    offlineMs: values.offlineMs,
    warnings: warningsOf(mode, values),
  });
}

/** Reads the cloud's settings; the faults name the setting. */
export function readCloud(
  env: Env,
  inputs: Pick<ConfigInputs, "cloudFile">,
): Result<Cloud, readonly string[]> {
  const name = env.TEAMS_CLOUD || "public";
  const known = knownCloud(name);
  if (known !== undefined) return ok(known);
  if (cloudFilePath(env) === undefined) {
    return err([
      `TEAMS_CLOUD: value is ${JSON.stringify(name.slice(0, 60))}, must be ` +
      `${CLOUD_NAMES.join(", ")} or the path of a file`,
    ]);
  }
  if (inputs.cloudFile === undefined) return err([`TEAMS_CLOUD: there is no file "${name}"`]);
  const parsed = parseCloud(inputs.cloudFile, name);
  return parsed.ok ? parsed : err(parsed.error.details.map((line) => `TEAMS_CLOUD: ${line}`));
}

type Values = {
  readonly fileHosts: readonly string[];
  readonly appId: string | undefined;
  readonly conversations: readonly ConversationType[];
  readonly listen: ListenAddress;
  readonly registerListen: ListenAddress;
  readonly registerToken: string | undefined;
};

/** Faults of settings that are valid alone but not in combination. */
function jointFaults(values: Values, ends: number | undefined, env: Env): readonly string[] {
  const faults: string[] = [];
  if (values.appId === undefined) {
    const given = ["TEAMS_APP_PASSWORD", "TEAMS_APP_TENANT_ID", "TEAMS_APP_ALIASES"]
      .filter((name) => (env[name] ?? "") !== "");
    if (given.length > 0) {
      faults.push(`TEAMS_APP_ID: not set, must be set together with ${given.join(" and ")}`);
    } else if (!isLoopbackName(values.listen.hostname)) {
      faults.push(
        `TEAMS_LISTEN: value is "${values.listen.hostname}:${values.listen.port}", must be ` +
          "loopback when TEAMS_APP_ID is not set: local mode checks no token",
      );
    }
  }
  if (ends !== undefined && Number.isNaN(ends)) {
    faults.push("TEAMS_APP_PASSWORD_EXPIRES: must be a date such as 2027-03-31");
  }
  for (const host of values.fileHosts) {
    if (fileOrigin(host) !== undefined) continue;
    const named = JSON.stringify(host.slice(0, 60));
    faults.push(`TEAMS_FILE_HOSTS: ${named} must be a host name, such as contoso.sharepoint.com`);
  }
  if (values.conversations.length === 0) faults.push("TEAMS_CONVERSATIONS: names no kind");
  const address = parseIp(values.registerListen.hostname);
  const isWildcard = address?.every((byte) => byte === 0) ?? false;
  if (address !== undefined && !isWildcard && !isPrivate(address)) {
    faults.push(
      `TEAMS_REGISTER_LISTEN: "${values.registerListen.hostname}" is a public address, must be ` +
        "private",
    );
  }
  if ((values.registerToken?.length ?? Infinity) < SHARED_TOKEN_LENGTH_MIN) {
    faults.push(
      `TEAMS_REGISTER_TOKEN: is too short, must have at least ${SHARED_TOKEN_LENGTH_MIN} ` +
        "characters",
    );
  }
  return faults;
}

function warningsOf(
  mode: TeamchatMode,
  values: {
    readonly agents: ReadonlyMap<ObjectId, AgentName>;
    readonly conversations: readonly ConversationType[];
    readonly registerToken: string | undefined;
  },
): readonly string[] {
  const shared = values.conversations.filter((type) => type !== "personal");
  const cloud = mode.kind === "cloud" ? mode.cloud : undefined;
  return [
    ...(mode.kind === "local"
      ? ["local mode: no token is checked, so only programs of this machine are answered"]
      : []),
    ...(cloud !== undefined && !CLOUD_NAMES.some((name) => name === cloud.name)
      ? [`private cloud ${cloud.name}: tokens of ${cloud.issuer} are believed`]
      : []),
    ...(mode.kind === "cloud" && mode.tenantId === undefined
      ? ["TEAMS_APP_TENANT_ID is not set: users of any tenant may be owners"]
      : []),
    ...(values.agents.size === 0 ? ["TEAMS_AGENTS is empty: every message is ignored"] : []),
    ...(shared.length === 0
      ? []
      : [`owners may write in ${shared.join(" and ")}: others there read the answers`]),
    ...(values.registerToken === undefined
      ? []
      : ["TEAMS_REGISTER_TOKEN is set: anyone who has it can register as any agent"]),
  ];
}

/** Returns the refusal that lists all faults. */
export function invalid(faults: readonly string[]): Result<never> {
  const count = faults.length === 1 ? "1 setting is" : `${faults.length} settings are`;
  return err(
    refusal("settings-invalid", `Cannot start: ${count} unusable`, {
      kind: "settings",
      details: faults,
    }),
  );
}
