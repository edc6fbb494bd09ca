/**
 * The facts that decide what an agent may do and for whom. When only the programs change, these
 * facts stay the same. Pure.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { AgentName } from "core/names.ts";
import type { RuntimeDefinition } from "core/runtimes/definition.ts";
import { secretEnv } from "units/reconcile/desired_roles.ts";
import type { Facts } from "units/reconcile/facts.ts";

/**
 * Returns the facts as texts. A fact that is not known to be harmless belongs here: a change of
 * these texts ends the wait for the end of a turn.
 */
export function rightsOf(
  agent: AgentRecord,
  of: {
    readonly runtime: RuntimeDefinition;
    /** The definitions that ship with the programs. */
    readonly shipped: ReadonlyMap<string, RuntimeDefinition>;
    readonly manifests: readonly Manifest[];
    readonly workspace: string;
    readonly facts: Facts;
  },
): readonly string[] {
  const { runtime, shipped, manifests, workspace, facts } = of;
  const { paths, roles: { dial }, project } = facts;
  // The gateways enforce the dial keys, and the first one is enrolled after the start.
  const { dialKeys: _enforcedElsewhere, ...record } = agent;
  const definition = JSON.stringify(runtime);
  const isShipped = definition === JSON.stringify(shipped.get(runtime.name));
  return [
    JSON.stringify(record),
    isShipped ? runtime.name : definition,
    ...manifests.map(serverText),
    JSON.stringify([workspace, project, dial?.registerUrl, dial?.teamchatUrl]),
    JSON.stringify(dial?.modelHosts?.get(agent.name)),
    JSON.stringify(dial?.settings?.get(agent.name)),
    secretEnv(facts, paths.sharedEnv)?.content ?? "",
    secretEnv(facts, paths.agentEnv(agent.name))?.content ?? "",
  ];
}

/** Returns the facts that decide what the server of an agent may do. */
export function serverRightsOf(
  manifest: Manifest,
  of: {
    readonly agent: AgentName;
    readonly workdir: string | undefined;
    readonly closed: readonly string[];
    readonly project: string | undefined;
    /** The values of its keys. */
    readonly values: readonly string[];
  },
): readonly string[] {
  const { agent, workdir, closed, project, values } = of;
  const whole = JSON.stringify(manifest, (_key, value: unknown) => {
    return value instanceof Map || value instanceof Set ? [...value] : value;
  });
  return [whole, JSON.stringify([agent, workdir, closed, project]), ...values];
}

/** The parts of a manifest on which the dial unit depends. Its server has a unit for the others. */
function serverText(manifest: Manifest): string {
  const { name, sharing, transport, source, headers, auth, oauth, risk } = manifest;
  const { requiredEnv, userEnv, optionalEnv } = manifest;
  const url = source.kind === "http" ? source.url : undefined;
  const keys = [...requiredEnv, ...userEnv, ...optionalEnv];
  return JSON.stringify([name, sharing, transport, url, headers, auth, oauth, [...risk], keys]);
}
