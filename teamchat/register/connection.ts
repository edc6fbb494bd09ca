/**
 * One connection at `/register`: what team chat adds to `core/dial/serve_session.ts`. The
 * registration check has authenticated the connection; the register frame must not contradict it.
 *
 * @module
 */

import type { RegisterFrame } from "core/dial/server_session.ts";
import { type Admission, serveSession, type SessionDeps } from "core/dial/serve_session.ts";
import type { AgentName, ObjectId } from "core/names.ts";
import type { FrameConnection } from "core/ports/sockets.ts";
import type { RegistrationPass } from "teamchat/register/check_registration.ts";

/** Dependencies shared by all connections. */
export interface AgentConnectionDeps extends SessionDeps {
  readonly agents: ReadonlyMap<ObjectId, AgentName>;
}

/** Context of one connection. */
export interface AgentContext {
  readonly pass: RegistrationPass;
  /** Called once, when the connection is registered or closed. */
  readonly onSettled: () => void;
}

/** Characters of a peer's own name that a log line contains. */
const SHOWN_LENGTH_MAX = 64;

/** Serves one connection until it closes. */
export function serveAgent(
  connection: FrameConnection,
  { pass, onSettled }: AgentContext,
  deps: AgentConnectionDeps,
): void {
  const { log } = deps;
  const { peer } = connection;
  serveSession(connection, {
    nonce: undefined,
    admit: (frame) => Promise.resolve(admit(frame, pass, deps)),
    onAccepted: (agent) =>
      log.info("register accepted", { agent, peer, proven: pass.kind === "agent" }),
    onRejected: ({ agent }, reason) =>
      log.warning("register rejected", { agent: agent.slice(0, SHOWN_LENGTH_MAX), reason, peer }),
    onSettled,
  }, deps);
}

function admit(frame: RegisterFrame, pass: RegistrationPass, deps: AgentConnectionDeps): Admission {
  const { agent } = frame;
  if (pass.kind === "agent" && agent !== pass.agent) {
    return { accept: false, reason: "agent-mismatch" };
  }
  // The owners may change at any time; a change ends only sessions that are already registered.
  const withdrawn = () => ownerFault(agent, pass, deps.agents);
  const reason = withdrawn();
  if (reason !== undefined) return { accept: false, reason };
  return {
    accept: true,
    agent,
    provenKey: pass.kind === "agent" ? pass.key : undefined,
    withdrawn,
  };
}

/** Why an agent may not register under the current owners; undefined when it may. */
function ownerFault(
  agent: string,
  pass: RegistrationPass,
  agents: ReadonlyMap<ObjectId, AgentName>,
): "owner-mismatch" | "agent-unknown" | undefined {
  if (pass.kind === "agent") {
    return agents.get(pass.owner) === agent ? undefined : "owner-mismatch";
  }
  return [...agents.values()].some((name) => name === agent) ? undefined : "agent-unknown";
}
