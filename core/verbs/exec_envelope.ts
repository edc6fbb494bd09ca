/**
 * The input that the daemon writes to the stdin of `fleetctl-exec`: the request, its caller, and
 * the grant that binds the two. One line of JSON, then end of file. No part of it is passed as an
 * argument. No I/O.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { parseAgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";
import type { Caller } from "core/verbs/caller.ts";
import { parseVerbRequest, requestText, type VerbRequest } from "core/verbs/daemon_frames.ts";
import type { Grant, GrantSubject } from "core/verbs/grant.ts";

/** A subject with its grant. */
export interface ExecEnvelope extends GrantSubject {
  readonly grant: Grant;
}

/** Prints an envelope as one line. */
export function printEnvelope(envelope: ExecEnvelope): string {
  const { caller, grant } = envelope;
  return `${JSON.stringify({ request: requestText(envelope.request), caller, grant })}\n`;
}

/** Parses an envelope. It must not be trusted before its grant is checked. */
export function parseEnvelope(text: string): Result<ExecEnvelope> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return bad("it is not JSON");
  }
  if (!isRecord(value) || typeof value.request !== "string") return bad("a field is missing");
  const request: Result<VerbRequest> = parseVerbRequest(new TextEncoder().encode(value.request));
  const caller = parseCaller(value.caller);
  const grant = parseGrant(value.grant);
  if (!request.ok) return request;
  if (caller === undefined) return bad("its caller is unusable");
  if (grant === undefined) return bad("its grant is unusable");
  return ok({ request: request.value, caller, grant });
}

function parseCaller(value: unknown): Caller | undefined {
  if (!isRecord(value) || typeof value.uid !== "number" || !Number.isInteger(value.uid)) {
    return undefined;
  }
  const { uid, kind } = value;
  if (kind === "operator" || kind === "gateway" || kind === "host") return { kind, uid };
  if (kind !== "admin" && kind !== "agent") return undefined;
  const agent = parseAgentName(String(value.agent));
  return agent.ok ? { kind, uid, agent: agent.value } : undefined;
}

function parseGrant(value: unknown): Grant | undefined {
  if (!isRecord(value)) return undefined;
  const { expiresAt, nonce, mac } = value;
  const isGrant = typeof expiresAt === "number" && typeof nonce === "string" &&
    typeof mac === "string";
  return isGrant ? { expiresAt, nonce, mac } : undefined;
}

function bad(found: string): Result<never> {
  return err(
    refusal("envelope-invalid", `Cannot run a verb as root: the envelope is unusable, ${found}`, {
      kind: "usage",
    }),
  );
}
