/**
 * `fleetctl agents key enroll <agent> <key>`: allows an agent to prove this key at the gateway. The
 * gateway runs it for the first key that an agent proves. Every later key is enrolled by an
 * operator. Idempotent.
 *
 * @module
 */

import { AGENT_KEYS } from "cli/agents/key/holder.ts";
import type { VerbContext } from "cli/context.ts";
import { enrollKey, keysWith, parseKeySelector } from "cli/dial_keys.ts";
import type { VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Caller } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The key to enroll. */
export interface Options {
  readonly name: AgentName;
  readonly key: string;
  /** Only for an agent that never had a key. */
  readonly isFirst: boolean;
}

/** Parses agent, key and switch. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const selector = parseKeySelector(AGENT_KEYS, invocation);
  if (!selector.ok) return selector;
  const { name, key = "" } = selector.value;
  return ok({ name, key, isFirst: invocation.switches.has("first") });
}

/** Adds the key. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const isFirst = options.isFirst || isFirstOnly(context.caller);
  return enrollKey(context, AGENT_KEYS, {
    ...options,
    decide: (keys) => keysAfterEnroll({ ...options, isFirst }, keys),
  });
}

/**
 * Whether the caller may enroll first keys only. This holds for the gateway, whatever its options.
 */
export function isFirstOnly(caller: Caller): boolean {
  return caller.kind === "gateway";
}

/** Returns the keys of an agent with one more, or the reason why it cannot be added. */
export function keysAfterEnroll(
  { name, key, isFirst }: Options,
  keys: readonly string[] | undefined,
): Result<readonly string[]> {
  if (!isFirst || keys === undefined || keys.includes(key)) {
    return keysWith(AGENT_KEYS, { name, key }, keys ?? []);
  }
  const found = keys.length === 0 ? "its keys were revoked" : "it has another one";
  return err(refusal(
    "dial-key-not-first",
    `Cannot enroll a first dial key of agent "${name}": ${found}, an operator must enroll it`,
    {
      kind: "denied",
      hints: [`fleetctl agents key list ${name}`, `fleetctl agents key enroll ${name} ${key}`],
    },
  ));
}
