/**
 * Whether an agent is connected to its gateway, on this host or another. On this host, one agent is
 * queried with its owner's identity, several with one request as root of this host. A running unit
 * does not prove a connection. Changes nothing.
 *
 * @module
 */

import { type AgentStorage, readStorage } from "cli/agent_storage.ts";
import type { VerbContext } from "cli/context.ts";
import { dials, keysInHomes } from "cli/first_keys.ts";
import { askElsewhere, type Elsewhere } from "cli/gateway_elsewhere.ts";
import { attachAsHost, attachCockpit } from "cli/up/attach.ts";
import { errorText } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { HostRoles } from "core/ledger/host_roles.ts";
import { ANSWER_LIMITS } from "core/limits/http.ts";
import type { AgentName } from "core/names.ts";
import { readJson } from "core/net/bounded_body.ts";
import type { Clock } from "core/ports/clock.ts";
import { isRecord } from "core/text/json_object.ts";
import { seesHost } from "core/verbs/caller.ts";

/** The connection state that the gateway reports for an agent. */
export type Connection = ConnectionState & {
  /** Use of its share of the gateway's disk, if the gateway reports it. */
  readonly storage?: AgentStorage | undefined;
};
type ConnectionState =
  /** `team chat`: only that gateway reaches the agent; see `teams-gateway doctor`. */
  | { readonly state: "connected" | "no owner" | "team chat" }
  /** `reason` is the cause as far as this host knows it; `key` is the agent's public dial key. */
  | {
    readonly state: "not connected";
    readonly reason: string;
    readonly key?: string | undefined;
  }
  /** `fault` is absent when there is no gateway to query. */
  | {
    readonly state: "unknown";
    readonly fault?: string;
    /** The gateway is on another host. */
    readonly elsewhere?: { readonly refusedKey: string | undefined };
  };

/** Time limit for a gateway on this host; a slower one counts as hung. */
const ANSWER_MS_MAX = 3_000;
const PATH = "/api/agents";

const FLEET_PATH = "/api/connections";

/**
 * Queries the gateway of this host for several agents. Where this host has no gateway, queries the
 * one at `registerUrl`.
 */
export async function connectionsOf(
  context: VerbContext,
  { roles, registerUrl }: {
    readonly roles: HostRoles;
    readonly registerUrl?: string | undefined;
  },
  agents: readonly AgentRecord[],
): Promise<ReadonlyMap<AgentName, Connection>> {
  const owned = agents.filter((agent) => agent.userEmail !== undefined);
  const isElsewhere = roles.gateway === undefined && owned.length > 0 && seesHost(context.caller);
  const elsewhere = isElsewhere && registerUrl !== undefined
    ? await askElsewhere(context, registerUrl)
    : undefined;
  if (elsewhere !== undefined) {
    const answers = agents.map(async (agent) =>
      [agent.name, await connectionElsewhere(context, agent, elsewhere)] as const
    );
    return new Map(await Promise.all(answers));
  }
  const isMany = owned.length > 1 && roles.gateway !== undefined && seesHost(context.caller);
  const answer = isMany ? await askAsHost(context) : undefined;
  const found = await Promise.all(agents.map(async (agent) =>
    [
      agent.name,
      answer === undefined || agent.userEmail === undefined
        ? await connectionOf(context, roles, agent)
        : "rows" in answer
        ? await readRows(context, agent, answer.rows.filter((row) => isOf(row, agent)))
        : answer,
    ] as const
  ));
  return new Map(found);
}

/**
 * Returns undefined when this query is not possible: the gateway is older, or this host has no key
 * to sign the assertion.
 */
async function askAsHost(
  { ports, paths }: VerbContext,
): Promise<{ readonly rows: readonly Row[] } | Connection | undefined> {
  return await withinLimit(ports.clock, async (signal) => {
    const client = await attachAsHost(ports, paths);
    if (!client.ok) return { state: "unknown", fault: client.error.message };
    if (client.value === undefined) return undefined;
    const response = await ports.http.fetch(client.value.base + FLEET_PATH, {
      headers: await client.value.proof("GET", FLEET_PATH),
      signal,
    });
    const { agents } = await readFields(response);
    return response.ok && Array.isArray(agents) ? { rows: agents as readonly Row[] } : undefined;
  });
}

/** Queries the gateway of this host for one agent. Never queries the gateway of another host. */
export async function connectionOf(
  context: VerbContext,
  roles: HostRoles,
  agent: AgentRecord,
): Promise<Connection> {
  if (agent.userEmail === undefined) return { state: dials(agent) ? "team chat" : "no owner" };
  if (roles.gateway === undefined) return { state: "unknown" };
  const { clock, http } = context.ports;
  const { userEmail } = agent;
  return await withinLimit(clock, async (signal) => {
    const client = await attachCockpit(context.ports, context.paths, userEmail);
    if (!client.ok) return { state: "unknown", fault: client.error.message };
    const response = await http.fetch(client.value.base + PATH, {
      headers: await client.value.proof("GET", PATH),
      signal,
    });
    return await readAnswer(context, agent, response);
  });
}

/** If the gateway does not answer in time, or fails, each queried agent gets that fault. */
async function withinLimit<T>(
  clock: Clock,
  ask: (signal: AbortSignal) => Promise<T | Connection>,
): Promise<T | Connection> {
  const ending = new AbortController();
  const cancel = clock.after(ANSWER_MS_MAX, () => ending.abort());
  try {
    return await ask(ending.signal);
  } catch (thrown) {
    const fault = ending.signal.aborted
      ? `no answer within ${ANSWER_MS_MAX / 1000} s`
      : errorText(thrown);
    return { state: "unknown", fault };
  } finally {
    cancel();
  }
}

/**
 * Returns the connection of an agent whose gateway is on another host, from the answer for all of
 * them.
 */
async function connectionElsewhere(
  context: VerbContext,
  agent: AgentRecord,
  answer: Elsewhere,
): Promise<Connection> {
  if (agent.userEmail === undefined) return { state: "no owner" };
  if (answer.kind === "silent") {
    return { state: "unknown", fault: answer.fault, elsewhere: { refusedKey: answer.refusedKey } };
  }
  return answer.connected.has(agent.name)
    ? { state: "connected" }
    : await whyOffline(context, agent);
}

/** Returns the fields of an answer; none if it is too large or is not a JSON object. */
async function readFields(
  response: Response,
): Promise<{ readonly agents?: unknown; readonly code?: unknown }> {
  const body = await readJson(response.body, ANSWER_LIMITS.bytesMax);
  return body.ok && isRecord(body.value) ? body.value : {};
}

async function readAnswer(
  context: VerbContext,
  agent: AgentRecord,
  response: Response,
): Promise<Connection> {
  const body = await readFields(response);
  if (response.status === 401 || response.status === 403) {
    const reason = `the gateway denies "${agent.userEmail}" (${String(body.code)})`;
    return { state: "not connected", reason };
  }
  if (!response.ok || !Array.isArray(body.agents)) {
    return { state: "unknown", fault: `it answered with status ${response.status}` };
  }
  const rows = body.agents as readonly Row[];
  return await readRows(context, agent, rows.filter((row) => row.agent === agent.name));
}

/** The fields of an agent's card that this file uses. */
interface Row {
  readonly agent?: unknown;
  readonly user_email?: unknown;
  readonly is_online?: unknown;
  readonly storage?: unknown;
}

/** Whether a row belongs to this agent. A row with another owner's address does not. */
function isOf(row: Row, { name, userEmail }: AgentRecord): boolean {
  return row.agent === name && row.user_email === userEmail;
}

async function readRows(
  context: VerbContext,
  agent: AgentRecord,
  [card]: readonly Row[],
): Promise<Connection> {
  if (card === undefined) {
    const reason = `the gateway does not know it as the agent of "${agent.userEmail}"`;
    return { state: "not connected", reason };
  }
  const storage = readStorage(card.storage);
  if (card.is_online === true) return { state: "connected", storage };
  return { ...await whyOffline(context, agent), storage };
}

/**
 * Explains a missing connection. The most common reason is a dial key that the ledger does not
 * list. The public half of the agent's key is no secret.
 */
async function whyOffline(context: VerbContext, agent: AgentRecord): Promise<Connection> {
  const { dialKeys } = agent;
  const state = "not connected";
  const key = (await keysInHomes(context, [agent.name])).get(agent.name);
  if (dialKeys?.length === 0) {
    return { state, reason: "its dial keys are all revoked, must have one", key };
  }
  if (dialKeys !== undefined && key !== undefined && !dialKeys.includes(key)) {
    return { state, reason: "its dial key is not enrolled", key };
  }
  return { state, reason: "its dial unit has no connection" };
}
