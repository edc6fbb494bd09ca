/**
 * Who may run what: one ordered list of rules for every verb, default deny, and a reason with each
 * answer. No I/O. It trusts only `Caller` and `Target`, not what the client claims about itself.
 * See `docs/access.md`.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { printShell } from "core/text/quote.ts";
import { type Caller, callerText } from "core/verbs/caller.ts";
import { type Invocation, wordsOf } from "core/verbs/invocation.ts";
import type { Addressed, Target } from "core/verbs/target.ts";
import { type Verb, verbName, type VerbScope } from "core/verbs/verb.ts";

/** The decision; its `reason` is always written to the audit log. */
export type Decision =
  | { readonly allowed: true; readonly reason: string }
  | { readonly allowed: false; readonly reason: string; readonly refusal: Refusal };

/** One question of the ladder and its answer; questions are in the order of their evaluation. */
export interface Rung {
  readonly question: string;
  readonly holds: boolean;
}

/** Input of a question. */
interface LadderInput {
  readonly caller: Caller;
  readonly invocation: Invocation;
  readonly target: Target;
  /** The scope of the verb's row, with `self_or_host` resolved by the target. */
  readonly needs: Exclude<VerbScope, "self_or_host">;
}

/**
 * The ladder: the first question with the answer yes decides. `authorize` enforces it, and the verb
 * `access explain` prints it, so the two cannot differ.
 */
const LADDER: readonly {
  readonly question: string;
  holds(input: LadderInput): boolean;
  decide(input: LadderInput): Decision;
}[] = [
  {
    question: "is the verb open to anyone?",
    holds: ({ needs }) => needs === "anyone",
    decide: () => allow("open to anyone"),
  },
  {
    question: "is the caller the operator?",
    holds: ({ caller }) => caller.kind === "operator",
    decide: () => allow("operator"),
  },
  {
    question: "is the caller unknown to this host?",
    holds: ({ caller }) => caller.kind === "other",
    decide: ({ caller, invocation }) => deny("unknown uid", unknownCaller(caller, invocation)),
  },
  {
    question: "is it a verb of the gateway, and the caller the gateway?",
    holds: ({ caller, needs }) =>
      caller.kind === "gateway" && (needs === "gateway" || needs === "self_or_gateway"),
    decide: () => allow("the gateway"),
  },
  {
    question: "is the caller the gateway?",
    holds: ({ caller }) => caller.kind === "gateway",
    decide: ({ caller, invocation }) =>
      deny("not for the gateway", unknownCaller(caller, invocation)),
  },
  {
    question: "is it a job of a host, and the caller the host's own unit?",
    holds: ({ caller, invocation }) => caller.kind === "host" && invocation.verb.isHostJob === true,
    decide: () => allow("the host's own unit"),
  },
  {
    question: "is the caller the host's own unit?",
    holds: ({ caller }) => caller.kind === "host",
    decide: ({ caller, invocation }) =>
      deny("not for the host's own unit", unknownCaller(caller, invocation)),
  },
  {
    question: "may any agent run it?",
    holds: ({ needs }) => needs === "agent",
    decide: () => allow("any agent"),
  },
  {
    question: "is the target the caller's own agent?",
    holds: ({ caller, target, needs }) =>
      "agent" in caller && target.kind === "agent" && target.agent === caller.agent &&
      (needs === "self" || needs === "self_or_gateway" || needs === "self_or_root"),
    decide: () => allow("own agent"),
  },
  {
    question: "does it need root for any other target?",
    holds: ({ needs }) => needs === "self_or_root",
    decide: ({ caller, invocation, target }) =>
      deny("cross-agent call without root", crossAgent(caller, invocation, target)),
  },
  {
    question: "is the caller an admin agent?",
    holds: ({ caller }) => caller.kind === "admin",
    decide: () => allow("admin agent"),
  },
  {
    question: "is the target a peer of the caller?",
    holds: ({ needs }) => needs === "self" || needs === "self_or_gateway",
    decide: ({ caller, invocation, target }) =>
      deny("target is a peer", peerTarget(caller, invocation, target)),
  },
];

/** Evaluates the ladder up to the first question that is true; denies when none is. */
export function walkLadder(
  caller: Caller,
  { invocation, target }: Addressed,
): { readonly walked: readonly Rung[]; readonly decision: Decision } {
  const { scope } = invocation.verb;
  const needs = scope === "self_or_host" ? target.kind === "agent" ? "self" : "operator" : scope;
  const input: LadderInput = { caller, invocation, target, needs };
  const walked: Rung[] = [];
  for (const { question, holds, decide } of LADDER) {
    const answer = holds(input) === true;
    walked.push({ question, holds: answer });
    if (answer) return { walked, decision: decide(input) };
  }
  return { walked, decision: deny("operator only", operatorOnly(caller, invocation)) };
}

/** Decides whether `caller` may run the addressed verb. */
export function authorize(caller: Caller, addressed: Addressed): Decision {
  return walkLadder(caller, addressed).decision;
}

/** Returns whether the verb needs root's permissions instead of the caller's. */
export function needsRoot(verb: Verb, caller: Caller, target: Target): boolean {
  if (verb.runs !== "root_for_peer") return verb.runs === "root";
  return !("agent" in caller && target.kind === "agent" && target.agent === caller.agent);
}

function allow(reason: string): Decision {
  return { allowed: true, reason };
}

function deny(reason: string, why: Refusal): Decision {
  return { allowed: false, reason, refusal: why };
}

function unknownCaller(caller: Caller, invocation: Invocation): Refusal {
  return refusal(
    "caller-unknown",
    `Cannot run "${verbName(invocation.verb)}": the caller is ${callerText(caller)}, ` +
      `must be root or an agent of this host`,
    { kind: "denied" },
  );
}

function operatorOnly(caller: Caller, invocation: Invocation): Refusal {
  const name = verbName(invocation.verb);
  const key = invocation.args.KEY;
  if (key !== undefined) {
    return refusal(
      "shared-shard-denied",
      `Cannot ${invocation.verb.path[1]} "${key}" for the whole host as ${callerText(caller)}: ` +
        `shared and host secrets are operator-only`,
      {
        kind: "denied",
        hints: [`fleetctl ${typedWords(invocation)} --agent self`],
      },
    );
  }
  return refusal(
    "operator-only",
    `Cannot run "${name}" as ${callerText(caller)}: it is operator-only, ` +
      `must be root or an agent with admin: true`,
    {
      kind: "denied",
      hints: invocation.verb.scope === "self_or_host" ? [`fleetctl ${name} self`] : [],
    },
  );
}

function peerTarget(caller: Caller, invocation: Invocation, target: Target): Refusal {
  return refusal(
    "self-target-only",
    `Cannot run "${verbName(invocation.verb)}" for ${targetText(target)} as ` +
      `${callerText(caller)}: the target must be the caller, or the caller an admin`,
    { kind: "denied", hints: [`fleetctl ${typedWords(invocation, "self")}`] },
  );
}

function crossAgent(caller: Caller, invocation: Invocation, target: Target): Refusal {
  return refusal(
    "cross-agent-root-only",
    `Cannot run "${verbName(invocation.verb)}" for ${targetText(target)} as ` +
      `${callerText(caller)}: only root may call across agents`,
    { kind: "denied", hints: [`fleetctl ${typedWords(invocation, "self")}`] },
  );
}

function targetText(target: Target): string {
  return target.kind === "agent" ? `agent "${target.agent}"` : "the whole host";
}

/**
 * Returns the words of an invocation, ready to paste. Contains no option value except the target.
 */
function typedWords(invocation: Invocation, target?: string): string {
  const { verb, args, options } = invocation;
  const isArgument = verb.args.some(({ name }) => name === verb.target?.name);
  const named = isArgument && verb.target !== undefined && target !== undefined
    ? { ...args, [verb.target.name]: target }
    : args;
  const words = wordsOf({ ...invocation, args: named });
  const isOption = verb.target?.from === "option" && options[verb.target.name] !== undefined;
  const tail = isOption && target !== undefined ? [`--${verb.target?.name}`, target] : [];
  return printShell([...verb.path, ...words, ...tail]);
}
