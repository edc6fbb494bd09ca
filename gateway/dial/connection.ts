/**
 * One connection at the dial-in listener: who is admitted. `core/dial/serve_session.ts` does the
 * rest. Only a client of the dial subprotocol gets a challenge. `decideRegister` checks the
 * register frame against the ledger and the enrolled keys; a first key is enrolled.
 *
 * @module
 */

import { checkIdentity } from "core/access/identity.ts";
import { DIAL_SUBPROTOCOL, dialProofText } from "core/dial/frames.ts";
import { hostOfSession } from "core/dial/host_job.ts";
import { isPublicKey, toBase64Url, verifyProof } from "core/dial/proof.ts";
import type { RegisterFrame } from "core/dial/server_session.ts";
import { type Admission, serveSession, type SessionDeps } from "core/dial/serve_session.ts";
import { hostnameOf, type IsOwnName } from "core/net/host_name.ts";
import type { FrameConnection } from "core/ports/sockets.ts";
import type { DialKeys } from "gateway/dial/keys.ts";
import type { LiveRoster } from "gateway/live_roster.ts";
import {
  acceptedLine,
  decideRegister,
  type ProofOutcome,
  rejectedLine,
} from "gateway/dial/register.ts";

/** Dependencies shared by all connections. */
export interface ConnectionDeps extends SessionDeps {
  readonly roster: Pick<LiveRoster, "current" | "refresh">;
  readonly isKeyRequired: boolean;
  readonly keys: DialKeys;
  readonly isOwnName: IsOwnName;
}

/** Bytes of a challenge nonce. */
const NONCE_LENGTH = 32;

/** Context of one connection. */
export interface ConnectionContext {
  /** `host:port` that the client dialled. */
  readonly gateway: string;
  /** Called once, when the connection is registered or closed. */
  readonly onSettled: () => void;
}

/** Serves one connection until it closes. */
export function serveConnection(
  connection: FrameConnection,
  { gateway, onSettled }: ConnectionContext,
  deps: ConnectionDeps,
): void {
  const { log, random } = deps;
  const { peer } = connection;
  const nonce = connection.protocol === DIAL_SUBPROTOCOL
    ? toBase64Url(random.bytes(NONCE_LENGTH))
    : undefined;
  serveSession(connection, {
    nonce,
    admit: (frame) => admit(frame, { nonce, gateway }, deps),
    onAccepted: (agent, frame) =>
      log.info(acceptedLine(agent, frame.user_email), {
        peer,
        host: frame.host,
        version: frame.version,
        proven: frame.proof !== undefined,
      }),
    onRejected: ({ agent, userEmail }, reason) =>
      log.warning(rejectedLine(agent, userEmail, reason), { peer }),
    onSettled,
  }, deps);
}

async function admit(
  frame: RegisterFrame,
  at: { readonly nonce: string | undefined; readonly gateway: string },
  { roster, keys, isKeyRequired, isOwnName }: ConnectionDeps,
): Promise<Admission> {
  const isKnown = () => checkIdentity(roster.current().ledger, frame.user_email, frame.agent).ok;
  // The agent may have just been added.
  if (!isKnown() && hostOfSession(frame.agent) === undefined) await roster.refresh();
  const decision = decideRegister({
    frame,
    enrolledKeys: await keys.enrolled(frame.agent),
    proof: await judgeProof(frame, { ...at, isOwnName }),
    isKeyRequired,
    // Read last: it may change during the checks above.
    ledger: roster.current().ledger,
  });
  if (!decision.accept) return decision;
  const { agent, enroll } = decision;
  if (enroll !== undefined) {
    const enrolled = await keys.enroll(agent, enroll);
    if (!enrolled.ok) return { accept: false, reason: enrolled.error.code };
    if (!enrolled.value) return { accept: false, reason: "key-not-enrolled" };
  }
  return {
    accept: true,
    agent,
    provenKey: frame.proof === undefined ? undefined : frame.key,
    withdrawn: () =>
      isKnown() || hostOfSession(agent) !== undefined ? undefined : "identity-changed",
  };
}

async function judgeProof(
  frame: RegisterFrame,
  at: {
    readonly nonce: string | undefined;
    readonly gateway: string;
    readonly isOwnName: IsOwnName;
  },
): Promise<ProofOutcome> {
  if (frame.proof === undefined) return "absent";
  if (at.nonce === undefined) return "no-challenge";
  if (frame.key === undefined || !isPublicKey(frame.key)) return "invalid";
  if (!at.isOwnName(hostnameOf(at.gateway))) return "other-gateway";
  const text = dialProofText({
    nonce: at.nonce,
    agent: frame.agent,
    userEmail: frame.user_email,
    host: frame.host ?? "",
    gateway: at.gateway,
  });
  return await verifyProof(frame.key, text, frame.proof) ? "valid" : "invalid";
}
