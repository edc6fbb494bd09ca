/**
 * Explains the decision about a command line step by step. It calls the functions that make the
 * real decision, so that the explanation matches it. No I/O; runs and records nothing.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import type { Result } from "core/result.ts";
import { needsRoot, walkLadder } from "core/verbs/authorize.ts";
import { type Caller, callerText } from "core/verbs/caller.ts";
import type { Request } from "core/verbs/invocation.ts";
import { type Addressed, addressFor, type Target } from "core/verbs/target.ts";
import { verbName, type VerbScope } from "core/verbs/verb.ts";

/** One step: what was checked, and the result. */
export interface ExplainedStep {
  readonly step: string;
  readonly found: string;
}

/** The steps and their outcome; `refusal` is the one that the caller would get. */
export interface Explanation {
  readonly steps: readonly ExplainedStep[];
  readonly verb: string | undefined;
  readonly target: string | undefined;
  readonly isAllowed: boolean;
  readonly reason: string;
  readonly refusal: Refusal | undefined;
}

const SCOPES: Readonly<Record<VerbScope, string>> = {
  anyone: "open to anyone",
  agent: "any agent, about itself",
  operator: "root, or an agent with admin: true",
  gateway: "root, an agent with admin: true, or the gateway",
  self: "the agent itself; for another agent admin or root",
  self_or_gateway: "the agent itself; for another agent admin, root, or the gateway",
  self_or_root: "the agent itself; for another agent root",
  self_or_host: "one agent: itself; the whole host: root or an admin agent",
};

/**
 * Explains the decision about a command line for `caller`. `isRealRoot` means that the root is `/`.
 */
export function explain(
  caller: Caller,
  typed: Result<Request>,
  isRealRoot: boolean,
): Explanation {
  const steps: ExplainedStep[] = [{ step: "caller", found: callerText(caller) }];
  const end = (reason: string, more: Partial<Explanation> = {}): Explanation => ({
    steps: [...steps, { step: "answer", found: more.isAllowed ? "allowed" : "refused" }],
    verb: undefined,
    target: undefined,
    isAllowed: false,
    refusal: undefined,
    ...more,
    reason,
  });
  if (!typed.ok) {
    steps.push({ step: "verb", found: typed.error.message });
    return end("no such verb", { refusal: typed.error });
  }
  if (typed.value.kind !== "run") {
    steps.push({ step: "verb", found: `requests ${typed.value.kind}, which needs no decision` });
    return end("open to anyone", { isAllowed: true });
  }
  const { invocation } = typed.value;
  const verb = verbName(invocation.verb);
  steps.push({ step: "verb", found: `"${verb}", for: ${SCOPES[invocation.verb.scope]}` });
  const addressed = addressFor(invocation, caller);
  if (!addressed.ok) {
    steps.push({ step: "target", found: addressed.error.message });
    return end("no target", { verb, refusal: addressed.error });
  }
  const { target } = addressed.value;
  steps.push(
    { step: "target", found: targetText(target, typedTarget(invocation)) },
    { step: "place", found: placeText(addressed.value, caller, isRealRoot) },
  );
  const { walked, decision } = walkLadder(caller, addressed.value);
  for (const { question, holds } of walked) {
    steps.push({ step: "question", found: `${question} ${holds ? "yes" : "no"}` });
  }
  const isAllowed = decision.allowed === true;
  if (!walked.some(({ holds }) => holds)) {
    steps.push({ step: "question", found: "no rule applies: denied by default" });
  }
  return end(decision.reason, {
    verb,
    target: target.kind === "agent" ? target.agent : target.kind,
    isAllowed,
    refusal: decision.allowed ? undefined : decision.refusal,
  });
}

function typedTarget({ verb, args, options }: Addressed["invocation"]): string | undefined {
  if (verb.target === undefined) return undefined;
  return verb.target.from === "argument" ? args[verb.target.name] : options[verb.target.name];
}

function targetText(target: Target, typed: string | undefined): string {
  switch (target.kind) {
    case "none":
      return "none: the verb names no agent";
    case "host":
      return "the whole host: no agent is named";
    case "agent":
      return typed === target.agent
        ? `agent "${target.agent}"`
        : `agent "${target.agent}", the caller (${typed === undefined ? "none named" : typed})`;
  }
}

function placeText({ invocation, target }: Addressed, caller: Caller, isRealRoot: boolean) {
  if (!needsRoot(invocation.verb, caller, target)) {
    return "the caller's own process and rights";
  }
  if (!isRealRoot) return "this process, run by the owner of the root folder";
  const isReader = caller.kind === "operator" &&
    (!invocation.verb.mutates || invocation.verb.follows === true);
  return isReader ? "root's own process" : "the daemon, as root";
}
