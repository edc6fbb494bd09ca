/**
 * Problems of a host's team-chat gateway, each with the command that fixes it. Pure.
 *
 * @module
 */

import { agentsOf, runningAgents, type TeamsState } from "cli/teams_gateway/state.ts";
import { ownerMissing } from "cli/teams_gateway/owner_missing.ts";
import { TEAMCHAT_PORT } from "cli/teamchat_role.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { logHint } from "core/hints/log_hint.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { Paths } from "core/paths.ts";
import { agentsDigest } from "core/teamchat/agents_digest.ts";
import { TEAMCHAT_RECEIVER_UNIT, TEAMCHAT_UNIT } from "units/render/unit_name.ts";
import type { UnitStatus } from "core/ports/unit.ts";

/** Returns all problems, each cause before its consequences. */
export function teamsProblems(state: TeamsState, paths: Paths): readonly Refusal[] {
  const { roles, markers } = state.gathered;
  if (roles.teamchat === undefined) return [notInstalled(markers.teamsGateway)];
  return [
    ...unitProblems(TEAMCHAT_UNIT, state.unit, paths),
    ...(state.isReceiverSeparate
      ? unitProblems(TEAMCHAT_RECEIVER_UNIT, state.receiver, paths)
      : joinProblems(state, paths)),
    ...ledgerProblems(state, paths),
    ...secretProblems(state),
    ...healthProblems(state, paths),
    ...state.wanted.faults,
  ];
}

function notInstalled(marker: string | undefined): Refusal {
  const where = marker === undefined ? "" : `; the marker teams_gateway names "${marker}"`;
  return refusal(
    "teams-gateway-absent",
    `The team-chat gateway is not installed on this host${where}`,
    { hints: ["fleetctl teams-gateway install"] },
  );
}

function unitProblems(
  name: string,
  unit: UnitStatus | undefined,
  paths: Paths,
): readonly Refusal[] {
  if (unit?.active === "active") return [];
  const state = unit === undefined
    ? "unknown: no service manager answers"
    : unit.load === "not-found"
    ? "not installed"
    : unit.active;
  return [
    refusal("teams-gateway-down", `Unit "${name}" is ${state}, must be active`, {
      hints: ["fleetctl apply", ...(unit?.load === "loaded" ? [logHint(paths, name)] : [])],
    }),
  ];
}

/** Remains of a separate receiver although the roles name one process. */
function joinProblems(
  { receiver, hasSpool, gathered }: TeamsState,
  paths: Paths,
): readonly Refusal[] {
  const { teamchat } = gathered.roles;
  if (receiver?.active === "active") {
    return [refusal(
      "teams-receiver-left",
      `Unit "${TEAMCHAT_RECEIVER_UNIT}" is active, must be removed: roles.yaml names one ` +
        `address for messages and agents, ${teamchat?.registerListen}`,
      { hints: ["fleetctl apply"] },
    )];
  }
  if (!hasSpool) return [];
  return [refusal(
    "teams-spool-left",
    `Accepted messages may remain in "${paths.teamchatSpool}", which no process reads`,
    {
      details: [
        "a separate receiver hands them over: give agents their own address until it is gone",
      ],
      hints: [
        "fleetctl teams-gateway install --register-listen " +
        `"$(hostname -I | cut -d' ' -f1):${TEAMCHAT_PORT}"`,
        `rm ${paths.teamchatSpool}`,
      ],
    },
  )];
}

function ledgerProblems(state: TeamsState, paths: Paths): readonly Refusal[] {
  const { rendered, wanted, gathered } = state;
  const isDifferent = rendered !== undefined && rendered.get("TEAMS_AGENTS") !== wanted.text;
  const running = runningAgents(state);
  // A gateway that watches its file is at most a fraction of a second behind.
  const isStale = running?.isWatched === false &&
    running.digest !== agentsDigest(agentsOf(wanted.text));
  const inTeams = [...gathered.ledger.agents.values()].filter(({ channel }) =>
    channel === "teamchat"
  );
  return [
    ...(isDifferent
      ? [refusal(
        "teams-agents-differ",
        "The team-chat gateway has different agents than the ledger of this host",
        { hints: ["fleetctl apply"] },
      )]
      : []),
    ...(isStale && !isDifferent
      ? [refusal(
        "teams-agents-stale",
        "The running team-chat gateway still uses the agents from its start, which are not " +
          "those of the ledger",
        { hints: [paths.root === "/" ? `systemctl restart ${TEAMCHAT_UNIT}` : "fleetctl apply"] },
      )]
      : []),
    ...(inTeams.length === 0
      ? [refusal(
        "teams-agents-none",
        "The ledger of this host has no agent of channel teamchat: every message is ignored, " +
          "and every registration refused",
        { hints: ["fleetctl agents add --help"] },
      )]
      : []),
    ...inTeams.map(ownerMissing).filter((each) => each !== undefined),
    ...inTeams.flatMap((agent) => keyProblem(state, agent)),
  ];
}

/** An agent whose key the gateway does not accept, and the command that enrolls it. */
function keyProblem(
  { gathered: { facts }, homeKeys }: TeamsState,
  { name, dialKeys, stopped, runOn }: AgentRecord,
): readonly Refusal[] {
  const key = homeKeys.get(name);
  const isHere = runOn === undefined || runOn === facts.hostname;
  if (key === undefined ? (dialKeys ?? []).length > 0 : dialKeys?.includes(key)) return [];
  // An agent stopped on purpose does not register. Its next start reports what is wrong.
  if (stopped !== undefined) return [];
  const state = dialKeys === undefined
    ? "has no enrolled dial key"
    : dialKeys.length === 0
    ? "has no dial key, all are revoked"
    : "has a dial key that is not enrolled";
  const enroll = `fleetctl agents key enroll ${name}`;
  const hints = !isHere
    ? [`ssh ${runOn} fleetctl agents key list ${name}`, `${enroll} --help`]
    : dialKeys === undefined
    ? ["fleetctl apply"]
    : key === undefined
    ? [`fleetctl agents restart ${name}`, "fleetctl teams-gateway doctor"]
    : [`${enroll} ${key}`];
  return [refusal("teams-key-missing", `Agent "${name}" ${state}: it cannot register`, { hints })];
}

/** Keys that cloud mode needs. */
const CLOUD_KEYS = ["TEAMS_APP_ID", "TEAMS_APP_PASSWORD", "TEAMS_APP_TENANT_ID"];

function secretProblems({ rendered }: TeamsState): readonly Refusal[] {
  if (rendered === undefined) return [];
  const missing = CLOUD_KEYS.filter((key) => (rendered.get(key) ?? "") === "");
  if (missing.length === 0 || missing.length === CLOUD_KEYS.length) return [];
  return [
    refusal(
      "teams-keys-incomplete",
      `Cloud mode is partly configured: ${missing.join(", ")} ${
        missing.length === 1 ? "is" : "are"
      } not set`,
      {
        hints: missing.map((key) => `fleetctl secret set ${key}`),
      },
    ),
  ];
}

/** Texts and remedies for the problems that the gateway reports itself. */
const HEALTH_MESSAGES: Readonly<
  Record<string, readonly [words: string, ...hints: readonly string[]]>
> = {
  "keys-never-fetched": [
    "the connector's keys could not be fetched: every message is answered 503",
    "fleetctl logs teamchat",
  ],
  "keys-old": ["the connector's keys are older than two days", "fleetctl logs teamchat"],
  "sender-away": [
    "the sender does not fetch: messages are stored, none reaches an agent",
    "fleetctl logs teamchat",
  ],
  "agents-none": ["it has no agents: every message is ignored", "fleetctl apply"],
  "agents-file-damaged": [
    "it cannot use its agents file and uses its previous content",
    "fleetctl apply",
    "fleetctl logs teamchat",
  ],
  "former-owners-left": [
    "a disk error prevents deleting former owners' data; it retries every five seconds",
    "fleetctl logs teamchat",
    "df -h",
  ],
  "app-token-secret-expired": [
    "the client secret has expired: no answer is sent",
    "fleetctl secret set TEAMS_APP_PASSWORD",
  ],
  "app-token-secret-invalid": [
    "the identity provider refuses the client secret",
    "fleetctl secret set TEAMS_APP_PASSWORD",
  ],
  "app-token-tenant-unknown": [
    "the identity provider does not know the tenant",
    "fleetctl secret set TEAMS_APP_TENANT_ID",
  ],
  "app-token-unavailable": ["the identity provider gives no token", "fleetctl logs teamchat"],
  "secret-ended": [
    "the client secret has ended",
    "fleetctl secret set TEAMS_APP_PASSWORD",
  ],
  "secret-ends-soon": [
    "the client secret ends within thirty days",
    "fleetctl secret set TEAMS_APP_PASSWORD",
    "fleetctl secret set TEAMS_APP_PASSWORD_EXPIRES --value 2027-03-31",
  ],
};

function healthProblems(state: TeamsState, paths: Paths): readonly Refusal[] {
  const { health } = state;
  const [listening, name] = state.isReceiverSeparate
    ? [state.receiver, TEAMCHAT_RECEIVER_UNIT]
    : [state.unit, TEAMCHAT_UNIT];
  if (health === undefined) {
    if (listening?.active !== "active") return [];
    return [
      refusal("teams-gateway-silent", "The team-chat gateway runs and does not answer /healthz", {
        hints: [logHint(paths, name)],
      }),
    ];
  }
  const named = Array.isArray(health.problems) ? health.problems.map(String) : [];
  return named.flatMap((name) => {
    // The ledger's own problems report this.
    if (name === "agents-none" && state.wanted.text === "{}") return [];
    // A newer gateway may report further problems.
    const [message, ...hints] = HEALTH_MESSAGES[name] ?? [name, "fleetctl logs teamchat"];
    return [refusal("teams-gateway-degraded", `The team-chat gateway is degraded: ${message}`, {
      // The keys belong to the receiver, and so do the log lines about them.
      hints: state.isReceiverSeparate && name.startsWith("keys-")
        ? ["fleetctl logs teamchat-receiver"]
        : hints,
    })];
  });
}
