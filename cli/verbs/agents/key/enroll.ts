/**
 * `fleetctl agents key enroll <agent> <key>`: lets an agent prove this key at the gateway. The
 * gateway runs it for the first key that an agent proves; every later one is an operator's word.
 * Idempotent.
 *
 * @module
 */

import { AGENT_KEYS } from "cli/agents/key/holder.ts";
import type { VerbContext } from "cli/context.ts";
import { enrollKey, keysWith, parseKeyWords } from "cli/dial_keys.ts";
import type { VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Caller } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** What is to be enrolled. */
export interface Options {
  readonly name: AgentName;
  readonly key: string;
  /** Only for an agent that never had a key. */
  readonly isFirst: boolean;
}

/** Parses agent, key and switch. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const words = parseKeyWords(AGENT_KEYS, invocation);
  if (!words.ok) return words;
  const { name, key = "" } = words.value;
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

/** What the gateway asks for is a first key, whatever it says. */
export function isFirstOnly(caller: Caller): boolean {
  return caller.kind === "gateway";
}

/** Returns the keys of an agent with one more, or why it may not have it. */
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
