/**
 * Turns the bytes of a client into a decision: grammar, identity from the kernel, verb, target,
 * scope. Reads the ledger and runs nothing. A client's own statements about itself can only reduce
 * its rights.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import { logHint } from "core/hints/log_hint.ts";
import type { Paths } from "core/paths.ts";
import type { PeerCredentials } from "core/ports/sockets.ts";
import { authorize, needsRoot } from "core/verbs/authorize.ts";
import type { Caller } from "core/verbs/caller.ts";
import { parseVerbRequest, type VerbRequest } from "core/verbs/daemon_frames.ts";
import { parseRequest, type Tokenize } from "core/verbs/invocation.ts";
import { type Addressed, addressFor } from "core/verbs/target.ts";
import { verbName } from "core/verbs/verb.ts";
import { whoIs, type WhoPorts } from "core/verbs/who.ts";

/** The decision, with everything known so far for the log. */
export type Judged =
  | {
    readonly allowed: true;
    readonly reason: string;
    readonly request: VerbRequest;
    readonly caller: Caller;
    readonly addressed: Addressed;
  }
  | {
    readonly allowed: false;
    readonly reason: string;
    readonly refusal: Refusal;
    readonly caller?: Caller;
    readonly addressed?: Addressed;
    /** The fault, for the log only. The peer does not see it. */
    readonly fault?: string;
  };

/**
 * Faults that the caller may see because they are about the caller. Others describe files that it
 * may not read.
 */
const ABOUT_THE_CALLER = ["act-as-denied", "agent-unknown", "name-invalid"];

/** Dependencies of a judgement, besides the request. */
export interface JudgeDeps {
  readonly ports: WhoPorts;
  readonly paths: Paths;
  readonly tokenize: Tokenize;
  /** The uid of the daemon. Under a root other than `/`, the root's owner starts the daemon. */
  readonly ownUid: number;
}

/**
 * Judges one request line of a peer. A fault on the way becomes a refusal, so that no one gains
 * access by causing one.
 */
export async function judge(
  line: Uint8Array,
  peer: PeerCredentials,
  deps: JudgeDeps,
): Promise<Judged> {
  try {
    return await judgeLine(line, peer, deps);
  } catch (thrown) {
    return refused("fault while judging", daemonFailed(deps.paths), errorText(thrown));
  }
}

async function judgeLine(
  line: Uint8Array,
  peer: PeerCredentials,
  deps: JudgeDeps,
): Promise<Judged> {
  const request = parseVerbRequest(line);
  if (!request.ok) return refused("bad request", request.error);
  const parsed = parseRequest(request.value.argv, deps.tokenize);
  if (!parsed.ok) return refused("no such verb", parsed.error);
  if (parsed.value.kind !== "run") return refused("not a verb", notForwarded("it asks for help"));
  const { invocation } = parsed.value;
  if (invocation.as !== undefined) {
    return refused(
      "as inside argv",
      notForwarded('it contains "--as", which has a separate field'),
    );
  }
  const subject = {
    uid: peer.uid,
    isContainerRoot: peer.isContainerRoot,
    as: request.value.as,
    rootOwner: deps.ownUid,
  };
  const caller = await whoIs(deps.ports, deps.paths, subject);
  if (!caller.ok) {
    return ABOUT_THE_CALLER.includes(caller.error.code) || peer.uid === 0
      ? refused("caller not identified", caller.error)
      : refused("caller not identified", daemonFailed(deps.paths), caller.error.message);
  }
  const addressed = addressFor(invocation, caller.value);
  if (!addressed.ok) return { ...refused("no target", addressed.error), caller: caller.value };
  const known = { caller: caller.value, addressed: addressed.value };
  // The daemon refuses verbs that do not need root, for every caller.
  if (!needsRoot(invocation.verb, caller.value, addressed.value.target)) {
    const name = verbName(invocation.verb);
    return { ...refused("needs no root", notForwarded(`"${name}" needs no root`)), ...known };
  }
  const decision = authorize(caller.value, addressed.value);
  return decision.allowed === true
    ? { allowed: true, reason: decision.reason, request: request.value, ...known }
    : { ...refused(decision.reason, decision.refusal), ...known };
}

function refused(
  reason: string,
  why: Refusal,
  fault?: string,
): Judged & { readonly allowed: false } {
  return { allowed: false, reason, refusal: why, ...defined({ fault }) };
}

function daemonFailed(paths: Paths): Refusal {
  return refusal("daemon-failed", "Cannot accept the request: the daemon failed", {
    hints: [logHint(paths, "fleetctl-daemon.service")],
  });
}

function notForwarded(found: string): Refusal {
  return refusal("not-for-daemon", `Cannot run this as root: ${found}`, { kind: "usage" });
}
