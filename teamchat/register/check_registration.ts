/**
 * Decides before the upgrade who may open a connection at `/register`, from the `Authorization`
 * header alone. The log gets the reason. The peer gets what
 * `core/teamchat/refused_registration.ts` reveals of it.
 *
 * | Header | Decision |
 * |---|---|
 * | signed token of an owner's agent, by its enrolled key, for this gateway, not seen before | that agent |
 * | the shared token of the settings, where one is set | the agent that the register frame names |
 * | anything else | 401 |
 *
 * @module
 */

import { areEqualBytes } from "core/crypto/constant_time.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { AgentName, ObjectId } from "core/names.ts";
import { hostnameOf, type IsOwnName } from "core/net/host_name.ts";
import type { Clock } from "core/ports/clock.ts";
import { readRegistration, type RegistrationFault } from "core/teamchat/registration.ts";

/** The accepted identity. */
export type RegistrationPass =
  | {
    readonly kind: "agent";
    readonly agent: AgentName;
    readonly owner: ObjectId;
    readonly key: string;
  }
  /** The register frame states the identity. */
  | { readonly kind: "shared" };

/** Why the registration check refuses; for the log. */
export type RegistrationRefusal =
  | RegistrationFault
  | "token-absent"
  | "token-foreign"
  | "agent-unknown"
  | "owner-mismatch"
  | "other-gateway"
  | "key-not-enrolled"
  | "token-used";

/** Dependencies of the registration check. */
export interface RegistrationDeps {
  readonly agents: ReadonlyMap<ObjectId, AgentName>;
  readonly sharedToken: string | undefined;
  readonly isOwnName: IsOwnName;
  readonly enrolled: (agent: string) => Promise<readonly string[] | undefined>;
  /** Stores a nonce durably. Returns false when it was already stored, or the write failed. */
  readonly takeNonce: (nonce: string, until: number) => Promise<boolean>;
  readonly clock: Clock;
}

/** The decision. */
export type RegistrationDecision =
  | { readonly ok: true; readonly value: RegistrationPass }
  | { readonly ok: false; readonly why: RegistrationRefusal; readonly agent: string };

/** Decides about the header of one upgrade. */
export async function judgeRegistration(
  authorization: string | null,
  deps: RegistrationDeps,
): Promise<RegistrationDecision> {
  const token = /^Bearer ([\x21-\x2b\x2d-\x7e]+)$/i.exec(authorization ?? "")?.[1];
  if (token === undefined) return no("token-absent");
  if (deps.sharedToken !== undefined && await isSame(token, deps.sharedToken)) {
    return { ok: true, value: { kind: "shared" } };
  }
  if (!token.startsWith("fleetctl.register.")) return no("token-foreign");
  const read = await readRegistration(token, deps.clock.now());
  if (!read.ok) return no(read.why);
  const { agent, owner, gateway, key, nonce, exp } = read.value;
  const ownerId = owner.toLowerCase() as ObjectId;
  const owned = deps.agents.get(ownerId);
  const isKnown = [...deps.agents.values()].some((name) => name === agent);
  if (owned === undefined || owned !== agent) {
    return no(isKnown ? "owner-mismatch" : "agent-unknown", agent);
  }
  if (!deps.isOwnName(hostnameOf(gateway))) return no("other-gateway", agent);
  const enrolled = await deps.enrolled(agent);
  if (enrolled?.includes(key) !== true) return no("key-not-enrolled", agent);
  const until = (exp + TEAMCHAT_LIMITS.clockSkewSeconds) * 1000;
  if (!await deps.takeNonce(nonce, until)) return no("token-used", agent);
  return { ok: true, value: { kind: "agent", agent: owned, owner: ownerId, key } };
}

function no(why: RegistrationRefusal, agent = ""): RegistrationDecision {
  return { ok: false, why, agent };
}

/** Compares hashes, so that the time does not reveal how much of the texts match. */
async function isSame(one: string, other: string): Promise<boolean> {
  const hash = async (text: string) =>
    new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const [left, right] = [await hash(one), await hash(other)];
  return areEqualBytes(left, right);
}
