/**
 * How a turn's end and a refusal reach an editor: a stop reason of ACP, or a JSON-RPC error with
 * the code and hints of the refusal. Pure.
 *
 * @module
 */

import { RequestError, type StopReason } from "@agentclientprotocol/sdk";
import { notCompleted } from "cli/up/turn.ts";
import { defined } from "core/defined.ts";
import type { Refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

/** Failures for which ACP has a stop reason. */
const STOPS: Readonly<Record<string, StopReason>> = {
  "model-output-limit": "max_tokens",
  "steps-exhausted": "max_turn_requests",
  "model-refusal": "refusal",
};

/** JSON-RPC codes. ACP also defines -32000, but with that an editor would ask for a sign-in. */
const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

/** Returns the stop reason for the payload of `turn_ended`. */
export function stopReason(end: Readonly<Record<string, unknown>>): Result<StopReason> {
  if (end.outcome === "completed") return ok("end_turn");
  if (end.outcome === "cancelled") return ok("cancelled");
  const stop = STOPS[String(end.code)];
  return stop === undefined ? err(notCompleted(end)) : ok(stop);
}

/** Returns the error that tells an editor about a refusal. Editors show little but the message. */
export function requestError(reason: Refusal): RequestError {
  const { code, message, details, hints } = reason;
  const text = [message, ...details, ...hints.map((hint) => `hint: ${hint}`)].join("\n");
  return new RequestError(rpcCode(reason), text, {
    code,
    ...defined({ hints: hints.length === 0 ? undefined : [...hints] }),
  });
}

function rpcCode({ code, kind }: Refusal): number {
  if (code === "prompt-running") return INVALID_REQUEST;
  return kind === "usage" ? INVALID_PARAMS : INTERNAL_ERROR;
}
