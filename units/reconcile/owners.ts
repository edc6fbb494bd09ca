/**
 * Looks up the accounts that own rendered files and units, before anything is planned. Where
 * everything belongs to one user, it looks up nothing, and owners are left unchanged.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import type { User, Users } from "core/ports/users.ts";
import { isReceiverSeparate } from "core/teamchat/separate_receiver.ts";
import type { FileOwner, OwnerIds } from "core/files/rendered_file.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Facts } from "units/reconcile/facts.ts";
import { ownerKey } from "units/reconcile/observe.ts";
import type { Scope } from "units/reconcile/scope.ts";
import { AGENTS_GROUP } from "units/render/mcp/socket.ts";
import { LOGIN_USER } from "units/render/roles/login_env.ts";
import { RECEIVER_USER, TEAMCHAT_USER } from "units/render/roles/teamchat_env.ts";
import { GATEWAY_USER } from "core/verbs/caller.ts";

/** Accounts of this host. */
export interface Owners {
  readonly ids: ReadonlyMap<string, OwnerIds>;
  /** Accounts of agents; agents without one are held. */
  readonly users: ReadonlyMap<AgentName, User>;
  readonly missing: ReadonlySet<AgentName>;
  readonly faults: readonly Refusal[];
}

/**
 * Looks up the accounts; refuses when one of fleetctl's own is missing. A scope needs only the
 * accounts of its agent.
 */
export async function findOwners(
  facts: Facts,
  users: Users,
  { scope, coming = [] }: {
    readonly scope?: Pick<Scope, "agent"> | undefined;
    /** Agents whose accounts do not exist yet but count as existing. */
    readonly coming?: readonly AgentName[];
  } = {},
): Promise<Result<Owners>> {
  const ids = new Map<string, OwnerIds>();
  const found = new Map<AgentName, User>();
  const missing = new Set<AgentName>();
  const faults: Refusal[] = [];
  if (facts.rootless) return ok({ ids, users: found, missing, faults });
  const own: FileOwner[] = [
    { user: "root", group: "root" },
    { user: "root", group: AGENTS_GROUP },
    ...(scope !== undefined || facts.roles.gateway === undefined ? [] : [
      { user: "root", group: GATEWAY_USER },
      { user: GATEWAY_USER, group: GATEWAY_USER },
    ]),
    ...(scope !== undefined || facts.roles.login === undefined ? [] : [
      { user: "root", group: LOGIN_USER },
      { user: LOGIN_USER, group: LOGIN_USER },
    ]),
    ...(scope !== undefined || facts.roles.teamchat === undefined ? [] : [
      { user: "root", group: TEAMCHAT_USER },
      { user: TEAMCHAT_USER, group: TEAMCHAT_USER },
      ...(isReceiverSeparate(facts.roles.teamchat)
        ? [{ user: "root", group: RECEIVER_USER }, { user: RECEIVER_USER, group: RECEIVER_USER }]
        : []),
    ]),
  ];
  const absent: string[] = [];
  for (const owner of own) {
    const uid = (await users.byName(owner.user))?.uid;
    const gid = await users.groupId(owner.group);
    if (uid !== undefined && gid !== undefined) ids.set(ownerKey(owner), { uid, gid });
    else absent.push(uid === undefined ? `user ${owner.user}` : `group ${owner.group}`);
  }
  if (absent.length > 0) return err(accountsMissing([...new Set(absent)]));
  for (const { name } of facts.agents) {
    if (scope !== undefined && scope.agent !== name) continue;
    const user = await users.byName(name);
    const gid = await users.groupId(name) ?? user?.gid;
    if (user === undefined || gid === undefined) {
      if (coming.includes(name)) continue;
      missing.add(name);
      faults.push(agentMissing(name));
      continue;
    }
    found.set(name, user);
    ids.set(`${name}:${name}`, { uid: user.uid, gid });
    ids.set(`root:${name}`, { uid: 0, gid });
  }
  return ok({ ids, users: found, missing, faults });
}

function accountsMissing(absent: readonly string[]): Refusal {
  return refusal(
    "account-missing",
    `Cannot set the owners of rendered files: ${absent.join(", ")} not found on this host, ` +
      "must exist",
    {
      hints: absent.map((each) =>
        each.startsWith("group")
          ? `groupadd --system ${each.slice(6)}`
          : `useradd --system --user-group --no-create-home ${each.slice(5)}`
      ),
    },
  );
}

function agentMissing(name: AgentName): Refusal {
  return refusal(
    "agent-account-missing",
    `Cannot render agent ${JSON.stringify(name)}: this host has no Unix user of that name, ` +
      "must have one",
    { hints: [`useradd --create-home --user-group --groups ${AGENTS_GROUP} ${name}`] },
  );
}
