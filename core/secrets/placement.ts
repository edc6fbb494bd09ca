/**
 * Who may write and read which shard. Pure: the verbs `secret set`, `secret unset` and `secret get`
 * share this decision.
 *
 * | Caller | own shard | another agent's shard | shared shard | role and host-operation keys |
 * |---|---|---|---|---|
 * | operator (root, admin agent) | write, read | write, read | write, read | shared shard only |
 * | agent | write, read | – | read, through its own | – |
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRoleKey } from "core/secrets/resolve.ts";
import type { SecretRef } from "core/secrets/shards.ts";

/** The caller. `agent` is absent for root. */
export interface SecretCaller {
  /** Root, or an agent with `admin: true`. */
  readonly isOperator: boolean;
  readonly agent?: AgentName | undefined;
}

/** Decides whether the caller may set or unset a secret in a shard. */
export function decidePlacement(
  caller: SecretCaller,
  ref: SecretRef,
  verb: "set" | "unset" = "set",
): Result<SecretRef> {
  const words = `fleetctl secret ${verb} ${ref.key}`;
  if (ref.agent === undefined) {
    return caller.isOperator ? ok(ref) : err(refusal(
      "shared-shard-denied",
      `Cannot ${verb} "${ref.key}" for the whole host as ${
        callerName(caller)
      }: shared and host secrets are operator-only`,
      {
        kind: "denied",
        hints: [`${words} --agent self`],
      },
    ));
  }
  if (!caller.isOperator && caller.agent !== ref.agent) {
    return err(refusal(
      "agent-shard-denied",
      `Cannot ${verb} "${ref.key}" of agent "${ref.agent}" as ${
        callerName(caller)
      }: an agent writes its own shard only`,
      {
        kind: "denied",
        hints: [`${words} --agent self`],
      },
    ));
  }
  return isRoleKey(ref.key)
    ? err(refusal(
      "key-misplaced",
      `Cannot ${verb} "${ref.key}" of agent "${ref.agent}": it is a key of the host, must be ` +
        "shared",
      { hints: [words] },
    ))
    : ok(ref);
}

/**
 * Decides whether the caller may read a secret. An agent reads its own shard, with the shared one
 * as fallback. An operator reads everything. Only operators read keys of the host, from any shard.
 */
export function decideReading(caller: SecretCaller, ref: SecretRef): Result<SecretRef> {
  if (caller.isOperator) return ok(ref);
  if (isRoleKey(ref.key)) {
    return err(refusal(
      "host-key-denied",
      `Cannot read "${ref.key}" as ${callerName(caller)}: it is a key of the host`,
      { kind: "denied" },
    ));
  }
  const whose = ref.agent === undefined ? "" : ` of agent "${ref.agent}"`;
  return ref.agent !== undefined && ref.agent === caller.agent ? ok(ref) : err(refusal(
    "agent-shard-denied",
    `Cannot read "${ref.key}"${whose} as ${
      callerName(caller)
    }: an agent reads its own secrets only`,
    { kind: "denied", hints: [`fleetctl secret get ${ref.key} --agent self`] },
  ));
}

/** Names the caller in a message. */
function callerName({ agent }: SecretCaller): string {
  return agent === undefined ? "a caller that is not an agent" : `agent "${agent}"`;
}
