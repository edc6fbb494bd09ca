/**
 * The kinds of callers that the verb tests try, and the invocations they make.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { AgentName } from "core/names.ts";
import { splitArguments } from "core/os/argv.ts";
import type { Caller } from "core/verbs/caller.ts";
import { type Invocation, parseRequest } from "core/verbs/invocation.ts";
import type { Verb } from "core/verbs/verb.ts";

/** Names an agent without the ceremony of parsing. */
export function agentNamed(name: string): AgentName {
  return name as AgentName;
}

/** Root. */
export const OPERATOR: Caller = { kind: "operator", uid: 0 };
/** An agent with `admin: true`. */
export const ADMIN: Caller = { kind: "admin", uid: 1001, agent: agentNamed("zoe") };
/** An ordinary agent. */
export const AGENT: Caller = { kind: "agent", uid: 1002, agent: agentNamed("ada") };
/** The gateway's own user. */
export const GATEWAY: Caller = { kind: "gateway", uid: 990 };
/** A user who is no agent. */
export const OTHER: Caller = { kind: "other", uid: 1009 };

/** Parses a command line that must be good. */
export function invocationOf(...argv: readonly string[]): Invocation {
  const request = parseRequest(argv, splitArguments);
  assert.ok(request.ok, request.ok ? "" : `${request.error.message} ${request.error.details}`);
  assert.equal(request.value.kind, "run");
  return (request.value as { invocation: Invocation }).invocation;
}

/** An invocation of any row, also of one that is not built yet, with `target` where it goes. */
export function invocationOfRow(verb: Verb, target: string | undefined): Invocation {
  const args: Record<string, string> = {};
  const options: Record<string, string> = {};
  for (const row of verb.args) {
    if (!row.rest && !row.optional) args[row.name] = row.name === "KEY" ? "KEY" : "word";
  }
  if (verb.target !== undefined && target !== undefined) {
    (verb.target.from === "argument" ? args : options)[verb.target.name] = target;
  }
  return { verb, args, rest: [], options, switches: new Set(), json: false, as: undefined };
}
