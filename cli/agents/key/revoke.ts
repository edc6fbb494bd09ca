/**
 * `fleetctl agents key revoke <agent> [key]`: takes keys out of the ledger; the gateway ends the
 * session of who proved one of them within a second. An agent whose last key is revoked is shut out
 * until an operator enrolls another: no key comes back by being proven (decision 11).
 *
 * @module
 */

import { changeKeys, parseKeyWords } from "cli/agents/key/change.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** What is to be revoked; without a key, all of them. */
export interface Options {
  readonly agent: AgentName;
  readonly key: string | undefined;
}

/** Parses agent and key. */
export function parseOptions(invocation: Invocation): Result<Options> {
  return parseKeyWords(invocation);
}

/** Removes the key, or all of them. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { agent, key } = options;
  return changeKeys(context, {
    verb: "agents key revoke",
    agent,
    summary: key === undefined
      ? `every dial key of agent "${agent}"`
      : `dial key ${key} of agent "${agent}"`,
    decide: (keys) => decide(options, keys),
    tell: (left, isSame) => [
      isSame
        ? `unchanged  agent "${agent}" has no dial key`
        : `revoked  ${key ?? "every dial key"} of agent "${agent}"`,
      ...(left.length > 0 ? [] : [
        `agent "${agent}" stays away until it has a key: fleetctl agents key enroll ${agent} <key>`,
      ]),
    ],
  });
}

function decide(
  { agent, key }: Options,
  keys: readonly string[] | undefined,
): Result<readonly string[]> {
  // A first key may be on its way from the gateway: after this it comes too late.
  if (key === undefined) return ok([]);
  if (keys?.includes(key)) return ok(keys.filter((one) => one !== key));
  return err(refusal(
    "dial-key-unknown",
    `Cannot revoke dial key "${key}" of agent "${agent}": it is not enrolled`,
    { hints: [`fleetctl agents key list ${agent}`, `fleetctl agents key revoke ${agent}`] },
  ));
}
