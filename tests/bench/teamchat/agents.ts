/**
 * Many agents of one process that answer every turn with its own text, for the team-chat bench.
 * They are bare WebSockets, because the bench measures the gateway.
 *
 * @module
 */

import { stderrLog } from "core/os/log.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemSockets } from "core/os/sockets.ts";
import type { FrameConnection } from "core/ports/sockets.ts";
import { signRegistration } from "core/teamchat/registration.ts";
import type { OwnSubject } from "tests/teamchat/sdks/subjects.ts";

/** The agents. */
export interface EchoAgents {
  connected(): number;
  close(): void;
}

/** Registers `count` agents, a hundred at a time. */
export async function connectAgents(
  own: OwnSubject,
  count: number,
  ownerOf: (n: number) => string,
): Promise<EchoAgents> {
  const network = systemSockets({
    processes: systemProcesses(),
    log: stderrLog({ program: "bench" }),
  });
  const sockets: FrameConnection[] = [];
  let registered = 0;
  const one = async (n: number) => {
    const key = own.keyOf(`agent-${n}`);
    if (key === undefined) throw new Error(`there is no key of agent-${n}`);
    const statement = { agent: `agent-${n}`, owner: ownerOf(n), gateway: own.register };
    const nonce = crypto.randomUUID();
    const token = await signRegistration({ ...statement, nonce }, key, Date.now());
    const socket = await network.connectFrames(`ws://${own.register}/register`, {
      frameBytesMax: 65_536,
      timeoutMs: 30_000,
      headers: { authorization: `Bearer ${token}` },
    });
    sockets.push(socket);
    const ready = Promise.withResolvers<void>();
    serve(socket, n, () => {
      registered++;
      ready.resolve();
    });
    await ready.promise;
  };
  for (let first = 0; first < count; first += 100) {
    const wave = Array.from({ length: Math.min(100, count - first) }, (_, n) => one(first + n));
    await Promise.all(wave);
  }
  return {
    connected: () => registered,
    close: () => {
      for (const socket of sockets) socket.terminate();
    },
  };
}

function serve(socket: FrameConnection, n: number, onRegistered: () => void): void {
  let seq = 0;
  const send = (frame: unknown) => socket.send(JSON.stringify(frame));
  const event = (kind: string, turnId: string, payload: unknown) =>
    send({ type: "event", event: { seq: ++seq, at: 1, turn_id: turnId, kind, payload } });
  socket.onMessage((data) => {
    const frame = JSON.parse(data) as { type: string; turn_id: string; text: string };
    if (frame.type === "registered") onRegistered();
    if (frame.type !== "turn") return;
    const { turn_id: turnId, text } = frame;
    send({ type: "turn_accepted", turn_id: turnId });
    event("turn_started", turnId, {});
    event("message", turnId, { message_id: "m1", role: "assistant", text });
    event("turn_ended", turnId, { outcome: "completed" });
  });
  send({ type: "register", user_email: "", agent: `agent-${n}`, epoch: `e-${n}` });
}
