/**
 * Whether the gateway of this host has an agent connected: asked of its own list, as the agent's
 * owner. A unit that runs tells nothing about that. Changes nothing.
 *
 * @module
 */

import { type AgentStorage, readStorage } from "cli/agent_storage.ts";
import type { VerbContext } from "cli/context.ts";
import { keyInHome } from "cli/first_keys.ts";
import { attachCockpit } from "cli/up/attach.ts";
import { errorText } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { HostRoles } from "core/ledger/host_roles.ts";

/** What the gateway says of an agent. */
export type Connection = Told & {
  /** How full its share of the gateway's disk is, as far as the gateway told. */
  readonly storage?: AgentStorage | undefined;
};
type Told =
  | { readonly state: "connected" | "no owner" }
  /** `reason` is why, as far as it is known here; `key` is the agent's public dial key. */
  | {
    readonly state: "not connected";
    readonly reason: string;
    readonly key?: string | undefined;
  }
  /** `fault` is absent when there is nobody to ask. */
  | { readonly state: "unknown"; readonly fault?: string };

/** A gateway on this host that takes longer hangs. */
const ANSWER_MS_MAX = 3_000;
const PATH = "/api/agents";

/** Asks the gateway of this host for one agent; nobody else's gateway is asked. */
export async function connectionOf(
  context: VerbContext,
  roles: HostRoles,
  agent: AgentRecord,
): Promise<Connection> {
  if (agent.userEmail === undefined) return { state: "no owner" };
  if (roles.gateway === undefined) return { state: "unknown" };
  const { clock, http } = context.ports;
  const ending = new AbortController();
  const cancel = clock.after(ANSWER_MS_MAX, () => ending.abort());
  try {
    const client = await attachCockpit(context.ports, context.paths, agent.userEmail);
    if (!client.ok) return { state: "unknown", fault: client.error.message };
    const response = await http.fetch(client.value.base + PATH, {
      headers: await client.value.proof("GET", PATH),
      signal: ending.signal,
    });
    return await readAnswer(context, agent, response);
  } catch (thrown) {
    const fault = ending.signal.aborted
      ? `no answer within ${ANSWER_MS_MAX / 1000} s`
      : errorText(thrown);
    return { state: "unknown", fault };
  } finally {
    cancel();
  }
}

async function readAnswer(
  context: VerbContext,
  agent: AgentRecord,
  response: Response,
): Promise<Connection> {
  const body = await response.json() as { readonly agents?: unknown; readonly code?: unknown };
  if (response.status === 401 || response.status === 403) {
    const reason = `the gateway denies "${agent.userEmail}" (${String(body.code)})`;
    return { state: "not connected", reason };
  }
  if (!response.ok || !Array.isArray(body.agents)) {
    return { state: "unknown", fault: `it answered with status ${response.status}` };
  }
  const cards = body.agents as readonly {
    readonly agent?: unknown;
    readonly is_online?: unknown;
    readonly storage?: unknown;
  }[];
  const card = cards.find((one) => one.agent === agent.name);
  if (card === undefined) {
    const reason = `the gateway does not know it as the agent of "${agent.userEmail}"`;
    return { state: "not connected", reason };
  }
  const storage = readStorage(card.storage);
  if (card.is_online === true) return { state: "connected", storage };
  return { ...await whyOffline(context, agent), storage };
}

/** The ledger's keys are the likeliest reason; the agent's own key is public by half. */
async function whyOffline(context: VerbContext, agent: AgentRecord): Promise<Connection> {
  const { dialKeys } = agent;
  const state = "not connected";
  const key = await keyInHome(context, agent.name);
  if (dialKeys?.length === 0) {
    return { state, reason: "its dial keys are all revoked, must have one", key };
  }
  if (dialKeys !== undefined && key !== undefined && !dialKeys.includes(key)) {
    return { state, reason: "its dial key is not enrolled, must be", key };
  }
  return { state, reason: "its dial unit must be" };
}
