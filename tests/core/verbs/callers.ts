/**
 * The kinds of callers in the verb tests, and the invocations they make.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { AgentName } from "core/names.ts";
import { splitArguments } from "core/os/argv.ts";
import type { Caller } from "core/verbs/caller.ts";
import { type Invocation, parseRequest } from "core/verbs/invocation.ts";
import type { Verb } from "core/verbs/verb.ts";

/** Casts a string to an agent name without parsing it. */
export function agentNamed(name: string): AgentName {
  return name as AgentName;
}

/** Root. */
export const OPERATOR: Caller = { kind: "operator", uid: 0 };
/** An agent with `admin: true`. */
export const ADMIN: Caller = { kind: "admin", uid: 1001, agent: agentNamed("zoe") };
/** An ordinary agent. */
export const AGENT: Caller = { kind: "agent", uid: 1002, agent: agentNamed("ada") };
/** Another ordinary agent. */
export const PEER: Caller = { kind: "agent", uid: 1003, agent: agentNamed("bea") };
/** The gateway's own user. */
export const GATEWAY: Caller = { kind: "gateway", uid: 990 };
/** The host's own dial unit. */
export const HOST: Caller = { kind: "host", uid: 991 };
/** A user who is not an agent. */
export const OTHER: Caller = { kind: "other", uid: 1009 };
/** The kernel's overflow uid. */
export const NOBODY: Caller = { kind: "other", uid: 65_534 };

/** Every kind of caller, as the columns of the verb × caller matrix. */
export const MATRIX_CALLERS: readonly (readonly [name: string, caller: Caller])[] = [
  ["root", OPERATOR],
  ["admin zoe", ADMIN],
  ["agent ada", AGENT],
  ["agent bea", PEER],
  ["gateway", GATEWAY],
  ["host unit", HOST],
  ["uid 1009", OTHER],
  ["nobody", NOBODY],
];

/**
 * The possible targets of a verb: none, the caller itself, or an agent by name. The agent is "own"
 * for ada and "another" for bea.
 */
export function targetsOf(verb: Verb): readonly (string | undefined)[] {
  if (verb.target === undefined) return [undefined];
  const optional = verb.target.absent === "required" ? [] : [undefined];
  const isSelfOnly = verb.args.find((row) => row.name === verb.target?.name)?.choices !== undefined;
  return [...optional, "self", ...(isSelfOnly ? [] : ["ada"])];
}

/** Parses a command line that must be valid. */
export function invocationOf(...argv: readonly string[]): Invocation {
  const request = parseRequest(argv, splitArguments);
  assert.ok(request.ok, request.ok ? "" : `${request.error.message} ${request.error.details}`);
  assert.equal(request.value.kind, "run");
  return (request.value as { invocation: Invocation }).invocation;
}

/** Builds an invocation of any row, also of an unimplemented one, with `target` in its position. */
export function invocationOfRow(verb: Verb, target: string | undefined): Invocation {
  const args: Record<string, string> = {};
  const options: Record<string, string> = {};
  for (const row of verb.args) {
    if (row.rest || row.optional) continue;
    args[row.name] = row.choices?.[0] ?? (row.name === "KEY" ? "KEY" : "word");
  }
  if (verb.target !== undefined && target !== undefined) {
    (verb.target.from === "argument" ? args : options)[verb.target.name] = target;
  }
  return { verb, args, rest: [], options, switches: new Set(), json: false, as: undefined };
}
