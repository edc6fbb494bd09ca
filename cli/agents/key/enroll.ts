/**
 * `fleetctl agents key enroll <agent> <key>`: lets an agent prove this key at the gateway. The
 * gateway runs it for the first key that an agent proves; every later one is an operator's word
 * (decision 11). Idempotent.
 *
 * @module
 */

import { changeKeys, parseKeyWords } from "cli/agents/key/change.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import { DIAL_KEYS_MAX } from "core/ledger/shard.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Caller } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** What is to be enrolled. */
export interface Options {
  readonly agent: AgentName;
  readonly key: string;
  /** Only for an agent that never had a key. */
  readonly isFirst: boolean;
}

/** Parses agent, key and switch. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const words = parseKeyWords(invocation);
  if (!words.ok) return words;
  const { agent, key = "" } = words.value;
  return ok({ agent, key, isFirst: invocation.switches.has("first") });
}

/** Adds the key. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { agent, key } = options;
  const isFirst = options.isFirst || isFirstOnly(context.caller);
  return changeKeys(context, {
    verb: "agents key enroll",
    agent,
    summary: `dial key ${key} of agent "${agent}"`,
    decide: (keys) => keysAfterEnroll({ agent, key, isFirst }, keys),
    tell: (_keys, isSame) => [`${isSame ? "unchanged" : "enrolled"}  ${key} of agent "${agent}"`],
  });
}

/** What the gateway asks for is a first key, whatever it says. */
export function isFirstOnly(caller: Caller): boolean {
  return caller.kind === "gateway";
}

/** Returns the keys of an agent with one more, or why it may not have it. */
export function keysAfterEnroll(
  { agent, key, isFirst }: Options,
  keys: readonly string[] | undefined,
): Result<readonly string[]> {
  if (keys === undefined) return ok([key]);
  if (keys.includes(key)) return ok(keys);
  const hints = [`fleetctl agents key list ${agent}`];
  if (isFirst) {
    const found = keys.length === 0 ? "its keys were revoked" : "it has another one";
    return err(refusal(
      "dial-key-not-first",
      `Cannot enroll a first dial key of agent "${agent}": ${found}, an operator must enroll it`,
      { kind: "denied", hints: [...hints, `fleetctl agents key enroll ${agent} ${key}`] },
    ));
  }
  return keys.length < DIAL_KEYS_MAX ? ok([...keys, key]) : err(refusal(
    "dial-keys-full",
    `Cannot enroll a dial key of agent "${agent}": it has ${keys.length}, ` +
      `must have at most ${DIAL_KEYS_MAX}`,
    { hints: [...hints, `fleetctl agents key revoke ${agent} <key>`] },
  ));
}
