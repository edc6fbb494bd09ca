/**
 * The settings that `apply` renders from the ledger for the roles. `WEBVIEW_LEDGER` and
 * `TEAMS_AGENTS` are maps, `WEBVIEW_ADMINS` is a list. Also the settings type that reads
 * `TEAMS_AGENTS` back. Pure and deterministic. An e-mail address or owner that two agents claim
 * maps to neither of them.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { type AgentName, type ObjectId, parseAgentName, parseObjectId } from "core/names.ts";
import { jsonMap, parsed, type SettingType } from "core/settings/setting_types.ts";

/** A rendered map, and one fault for each claim that it leaves out. */
export interface RenderedMap {
  /** One line of JSON. */
  readonly text: string;
  readonly faults: readonly Refusal[];
}

/** Renders `WEBVIEW_LEDGER`: e-mail to agent, sorted by e-mail. */
export function renderWebviewLedger(agents: Iterable<AgentRecord>): RenderedMap {
  return renderMap(agents, "user_email", (agent) => agent.userEmail);
}

/** Renders `webview-ledger.json`, which the gateway follows (`core/access/roster_file.ts`). */
export function renderWebviewRoster(agents: readonly AgentRecord[]): string {
  const { text } = renderWebviewLedger(agents);
  return `{"ledger":${text},"admins":${renderWebviewAdmins(agents)}}\n`;
}

/** Renders `TEAMS_AGENTS`: owner object id to agent, for agents whose channel is `teamchat`. */
export function renderTeamsAgents(agents: Iterable<AgentRecord>): RenderedMap {
  const inTeams = [...agents].filter((agent) => agent.channel === "teamchat");
  return renderMap(inTeams, "owner_aad", (agent) => agent.ownerAad);
}

/** Renders `WEBVIEW_ADMINS`: the sorted names of admin agents; `[]` if there are none. */
export function renderWebviewAdmins(agents: Iterable<AgentRecord>): string {
  return JSON.stringify([...agents].filter((each) => each.isAdmin).map((each) => each.name).sort());
}

/** Type of the setting `TEAMS_AGENTS`. */
export function teamsAgentsType(): SettingType<ReadonlyMap<ObjectId, AgentName>> {
  return jsonMap(parsed(parseObjectId), parsed(parseAgentName));
}

function renderMap<Claim extends string>(
  agents: Iterable<AgentRecord>,
  key: string,
  claim: (agent: AgentRecord) => Claim | undefined,
): RenderedMap {
  const { single, shared } = claims(agents, claim);
  return {
    // An object would reorder numeric keys and could lose `__proto__`, so this prints each entry.
    text: `{${single.map((pair) => pair.map((part) => JSON.stringify(part)).join(":")).join(",")}}`,
    faults: shared.map(([value, names]) =>
      refusal("claim-shared", `Cannot map ${key} "${value}": ${names.length} agents have it`, {
        details: names.map((name) =>
          `agents.d/${name}.yaml: ${key}: is also used by another agent, must be unique`
        ),
        hints: [
          ...names.map((name) => `fleetctl agents show ${name}`),
          "fleetctl apply",
        ],
      })
    ),
  };
}

function claims<Claim extends string>(
  agents: Iterable<AgentRecord>,
  claim: (agent: AgentRecord) => Claim | undefined,
) {
  const holders = new Map<Claim, AgentName[]>();
  for (const agent of agents) {
    const value = claim(agent);
    if (value !== undefined) holders.set(value, [...holders.get(value) ?? [], agent.name]);
  }
  const sorted = [...holders].sort(([left], [right]) => left < right ? -1 : left > right ? 1 : 0);
  const single: [Claim, AgentName][] = [];
  const shared: [Claim, readonly AgentName[]][] = [];
  for (const [value, names] of sorted) {
    const [first] = names;
    if (names.length === 1 && first !== undefined) single.push([value, first]);
    else shared.push([value, names]);
  }
  return { single, shared };
}
