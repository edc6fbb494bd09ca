/**
 * Determines the caller of this program from uid, owner of the root folder, and agent in the
 * ledger. Only reads. `core/verbs/caller.ts` makes the decision.
 *
 * @module
 */

import { findAgent, type Ledger, readLedger } from "core/ledger/ledger.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import type { Users } from "core/ports/users.ts";
import { err, ok, type Result } from "core/result.ts";
import {
  actAs,
  actAsDenied,
  type Caller,
  callerFor,
  GATEWAY_USER,
  HOST_USER,
  type KnownAgent,
} from "core/verbs/caller.ts";

/** The ports that this module needs. */
export interface WhoPorts {
  readonly files: Pick<Files, "list" | "readText" | "stat">;
  readonly users: Pick<Users, "byUid">;
}

/** Returns the caller for `uid` under this root; `as` restricts it to an agent. */
export async function whoIs(
  ports: WhoPorts,
  paths: Paths,
  who: {
    readonly uid: number;
    readonly as: string | undefined;
    readonly isContainerRoot?: boolean | undefined;
    /** Owner of a root other than `/`, when already known. */
    readonly rootOwner?: number;
  },
): Promise<Result<Caller>> {
  const root = paths.root;
  const rootOwner = root === "/" ? undefined : who.rootOwner ?? await ownerOf(ports.files, root);
  const account = root === "/" && who.uid !== 0
    ? (await ports.users.byUid(who.uid))?.name
    : undefined;
  const isGateway = account === GATEWAY_USER;
  const isHost = account === HOST_USER;
  const isRole = isGateway || isHost;
  const needsLedger = who.as !== undefined || (root === "/" && who.uid !== 0 && !isRole);
  const ledger = needsLedger ? await readLedger(ports.files, paths) : undefined;
  if (ledger !== undefined && !ledger.ok) return ledger;
  const agent = ledger === undefined || root !== "/" || who.uid === 0 || isRole
    ? undefined
    : await agentOfUid(ports.users, ledger.value, who.uid);
  const isContainerRoot = who.isContainerRoot === true;
  const known = { agent, isGateway, isHost, isContainerRoot };
  const caller = callerFor({ uid: who.uid, root, rootOwner, ...known });
  if (who.as === undefined || ledger === undefined) return ok(caller);
  return actingAs(caller, ledger.value, who.as);
}

function actingAs(caller: Caller, ledger: Ledger, as: string): Result<Caller> {
  const agent = findAgent(ledger, as);
  if (agent.ok) return actAs(caller, agent.value);
  // A caller that may not act as another agent must not learn which agents exist.
  if (caller.kind === "operator" || caller.kind === "admin") return agent;
  return err(actAsDenied(caller, as));
}

async function agentOfUid(
  users: Pick<Users, "byUid">,
  ledger: Ledger,
  uid: number,
): Promise<KnownAgent | undefined> {
  const user = await users.byUid(uid);
  // If the shard cannot be read, the uid does not count as an agent. Running programs continue, but
  // the agent's verbs are refused.
  const agent = user === undefined ? undefined : findAgent(ledger, user.name);
  return agent?.ok ? agent.value : undefined;
}

/**
 * Returns the owner of a root folder. For a missing one, this is the owner of its nearest existing
 * parent, who could create it.
 */
async function ownerOf(files: Pick<Files, "stat">, root: string): Promise<number | undefined> {
  for (let folder = root; folder !== ""; folder = folder.slice(0, folder.lastIndexOf("/"))) {
    const stat = await files.stat(folder);
    if (stat !== undefined) return stat.uid;
  }
  return (await files.stat("/"))?.uid;
}
