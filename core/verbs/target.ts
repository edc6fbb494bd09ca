/**
 * Resolves the target of an invocation: `self` becomes the calling agent, and an agent's `secret
 * get` without a shard becomes `--agent self`. No I/O. Does not decide about permissions:
 * `core/verbs/authorize.ts` does, with the target from here.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { type AgentName, parseAgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Caller, callerAgent, callerText, isOperator } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { verbName } from "core/verbs/verb.ts";

/** The object that a verb acts on. */
export type Target =
  | { readonly kind: "agent"; readonly agent: AgentName }
  | { readonly kind: "host" }
  | { readonly kind: "none" };

/** An invocation with a resolved target; its arguments name the agent, never `self`. */
export interface Addressed {
  readonly invocation: Invocation;
  readonly target: Target;
}

/** Keys that sign root executions. Only the operator and admin agents may read them. */
const HOST_OPERATION_KEYS: readonly string[] = [
  "FLEETCTL_HOST_OP_SECRET",
  "FLEETCTL_HOST_OP_GRANT_SECRET",
];

/** Resolves the target of an invocation for this caller. */
export function addressFor(invocation: Invocation, caller: Caller): Result<Addressed> {
  const rule = invocation.verb.target;
  if (rule === undefined) return ok({ invocation, target: { kind: "none" } });
  const typed = rule.from === "argument"
    ? invocation.args[rule.name]
    : invocation.options[rule.name];
  const own = callerAgent(caller);
  if (typed === undefined) {
    const isHost = rule.absent === "host" ||
      (rule.absent === "caller_or_host" && (own === undefined || isHostKey(invocation, caller))) ||
      (rule.absent === "agent_or_host" && (own === undefined || isOperator(caller)));
    if (isHost) return ok({ invocation, target: { kind: "host" } });
  }
  if (typed === undefined || typed === "self") {
    return own === undefined
      ? err(noSelf(invocation, caller, typed))
      : ok(withTarget(invocation, own));
  }
  const agent = parseAgentName(typed);
  return agent.ok ? ok(withTarget(invocation, agent.value)) : agent;
}

/**
 * Tells whether an admin agent names a host-operation key. Both keys are in the shared shard, where
 * an admin agent may read them.
 */
function isHostKey(invocation: Invocation, caller: Caller): boolean {
  return caller.kind === "admin" && HOST_OPERATION_KEYS.includes(invocation.args.KEY ?? "");
}

function withTarget(invocation: Invocation, agent: AgentName): Addressed {
  const rule = invocation.verb.target;
  const target: Target = { kind: "agent", agent };
  if (rule === undefined) return { invocation, target };
  const named = { [rule.name]: agent };
  return {
    target,
    invocation: rule.from === "argument"
      ? { ...invocation, args: { ...invocation.args, ...named } }
      : { ...invocation, options: { ...invocation.options, ...named } },
  };
}

function noSelf(invocation: Invocation, caller: Caller, typed: string | undefined) {
  const name = verbName(invocation.verb);
  return refusal(
    "self-unknown",
    typed === "self"
      ? `Cannot run "${name}" for "self": the caller is ${callerText(caller)}, must be an agent`
      : `Cannot run "${name}": the caller is ${callerText(caller)}, must be an agent or name one`,
    {
      kind: "usage",
      hints: ["fleetctl agents list", `fleetctl ${verbName(invocation.verb)} --help`],
    },
  );
}
