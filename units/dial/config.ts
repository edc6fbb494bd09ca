/**
 * Settings of a dial unit, read in one pass with every fault named. No I/O.
 *
 * @module
 */

import { DIAL_PORT, parseRegisterUrl } from "core/dial/register_url.ts";
import { ASK_MODES, type AskMode, YES_OR_NO, type YesOrNo } from "core/ledger/agent.ts";
import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import {
  type AgentName,
  type Email,
  type ObjectId,
  parseAgentName,
  parseEmail,
  parseObjectId,
} from "core/names.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { integer, oneOf, parsed, type SettingType, text } from "core/settings/setting_types.ts";
import { defaulted, type Env, optional, readSettings, required } from "core/settings/settings.ts";
import { SANDBOX_NETWORKS, type SandboxNetwork } from "core/sandbox/command_sandbox.ts";
import { setupRule } from "core/workspace.ts";

/** A path inside the repository. */
const SETUP_SCRIPT: SettingType<string> = {
  parse: (given) => {
    const rule = setupRule(given);
    return rule === undefined ? ok(given) : err(rule);
  },
};

const { askSecondsMin: ASK_MIN, askSecondsMax: ASK_MAX } = APPROVAL_LIMITS;

/** The settings table; also the help text of the role. */
export const DIAL_SETTINGS = {
  root: defaulted("FLEETCTL_ROOT", text(), { fallback: "/", doc: "Prefix of every path." }),
  agent: required("FLEETCTL_AGENT", parsed(parseAgentName), { doc: "The agent of this unit." }),
  userEmail: optional("CHANNEL_USER_EMAIL", parsed(parseEmail), {
    doc: "Login identity that the ledger maps to the agent; without it there is no cockpit.",
  }),
  teamchatUrl: optional("CHANNEL_TEAMCHAT_GATEWAY_URL", parsed(parseRegisterUrl), {
    doc: "URL where the team-chat gateway accepts registrations.",
  }),
  owner: optional("CHANNEL_OWNER_AAD", parsed(parseObjectId), {
    doc: "Object id of the owner in team chat.",
    requiredWhen: {
      test: (env) => (env.CHANNEL_TEAMCHAT_GATEWAY_URL ?? "") !== "",
      words: "when CHANNEL_TEAMCHAT_GATEWAY_URL is",
    },
  }),
  cockpitUrl: defaulted("CHANNEL_WEBVIEW_GATEWAY_URL", parsed(parseRegisterUrl), {
    fallback: `ws://127.0.0.1:${DIAL_PORT}`,
    doc: "URL where the gateway accepts dial-ins.",
  }),
  runtime: required("FLEETCTL_RUNTIME", text(), { doc: "Name of the runtime definition." }),
  ask: optional("FLEETCTL_ASK", oneOf(ASK_MODES), {
    doc: "Which built-in tools ask a person first; the default of the runtime when not set.",
  }),
  askSeconds: optional("FLEETCTL_ASK_SECONDS", integer(ASK_MIN, ASK_MAX), {
    doc: "Seconds that a person has to decide about a call; 86400 when not set.",
  }),
  sandbox: optional("FLEETCTL_SANDBOX", text(), {
    doc: "The folder that commands may write in their sandbox; no sandbox when not set.",
  }),
  sandboxNetwork: defaulted("FLEETCTL_SANDBOX_NETWORK", oneOf(SANDBOX_NETWORKS), {
    fallback: "none",
    doc: "The network of commands in their sandbox.",
  }),
  workdir: optional("FLEETCTL_WORKSPACE", text(), { doc: "Folder in which the runtime works." }),
  worktrees: defaulted("FLEETCTL_WORKTREES", oneOf(YES_OR_NO), {
    fallback: "no",
    doc: "Whether each new conversation gets a git worktree of the workspace.",
  }),
  setup: optional("FLEETCTL_SETUP", SETUP_SCRIPT, {
    doc: "Script in the repository that prepares a new worktree.",
  }),
} as const;

/** Configuration of a dial unit. */
export interface DialConfig {
  readonly paths: Paths;
  readonly agent: AgentName;
  /** Absent for an agent that has no cockpit. */
  readonly userEmail: Email | undefined;
  readonly cockpitUrl: URL;
  /** Present for an agent of channel `teamchat` with a gateway. */
  readonly teamchat: { readonly url: URL; readonly owner: ObjectId } | undefined;
  readonly runtime: string;
  readonly workdir: string | undefined;
  readonly worktrees: YesOrNo;
  /** Path relative to the root of the repository. */
  readonly setup: string | undefined;
  /** Absent when the agent's record sets no mode. */
  readonly ask: AskMode | undefined;
  /** Absent for the default time. */
  readonly askSeconds?: number | undefined;
  /** The sandbox of commands; absent without one. */
  readonly sandbox?:
    | { readonly folder: string; readonly network: SandboxNetwork }
    | undefined;
}

/** Reads the settings; every fault is in the details of the refusal. */
export function readDialConfig(env: Env): Result<DialConfig> {
  const read = readSettings(DIAL_SETTINGS, env);
  if (!read.ok) return read;
  const { root, teamchatUrl, owner, sandbox: folder, sandboxNetwork: network, ...rest } =
    read.value;
  const sandbox = folder === undefined ? undefined : { folder, network };
  const teamchat = teamchatUrl === undefined || owner === undefined
    ? undefined
    : { url: teamchatUrl, owner };
  return ok({ paths: pathsUnder(root), ...rest, teamchat, sandbox });
}
