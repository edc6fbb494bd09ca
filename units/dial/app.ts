/**
 * Wires a dial unit: store, runtime, runner of turns, session with the gateway, local socket. Takes
 * the runtime's driver and ports; `units/dial/main.ts` and the tests start it the same way.
 *
 * @module
 */

import type { InboundFrame } from "core/dial/client_session.ts";
import type { AgentState } from "core/dial/event.ts";
import { CLOSE } from "core/dial/frames.ts";
import { errorText } from "core/errors.ts";
import type { Host, Log } from "core/ports.ts";
import { err, ok, type Result } from "core/result.ts";
import type { RuntimeDriver } from "core/runtimes/driver.ts";
import type { DialConfig } from "units/dial/config.ts";
import { type GatewayLink, startGatewayLink } from "units/dial/gateway_link.ts";
import { type Approvals, openApprovals } from "units/dial/approvals.ts";
import { loadDialKey } from "units/dial/key_file.ts";
import { openLocalSocket } from "units/dial/local_socket.ts";
import { createQuestions, type GatewayQuestions } from "units/dial/messages.ts";
import type { PermissionDesk } from "units/dial/permission.ts";
import { createRecorder } from "units/dial/recorder.ts";
import { superviseRuntime } from "units/dial/runtime.ts";
import { createStateFile } from "units/dial/state_file.ts";
import { type DialStore, openDialStore } from "units/dial/store.ts";
import { startTurnRunner, type TurnRunner } from "units/dial/turn_runner.ts";

/** Ports of a dial unit. */
export type DialPorts = Pick<
  Host,
  "clock" | "random" | "files" | "sockets" | "databases" | "users" | "log"
>;

/** What a dial unit gets besides its settings. */
export interface DialOptions {
  readonly driver: RuntimeDriver;
  /** Answers the runtime's permission requests once approvals are open. */
  readonly permissions?: PermissionDesk;
  readonly hostname: string;
  readonly version: string;
}

/** The running dial unit. */
export interface DialUnit {
  isConnected(): boolean;
  /** Ends the runtime, sends what waits, says good-bye. */
  close(): Promise<void>;
}

/** How long the runtime has to end, and the outbox to empty, when the unit stops. */
const RUNTIME_GRACE_MS = 5_000;
const OUTBOX_GRACE_MS = 2_000;

/** Starts the dial unit; refuses a damaged key, rejects when its folder cannot be used. */
export async function startDialUnit(
  config: DialConfig,
  ports: DialPorts,
  options: DialOptions,
): Promise<Result<DialUnit>> {
  const { clock, random, files, databases, sockets } = ports;
  const log = ports.log.with({ agent: config.agent });
  const folder = config.paths.dialState(config.agent);
  await files.ensureDir(folder, { mode: 0o700 });
  const key = await loadDialKey(files, `${folder}/key.json`);
  if (!key.ok) return err(key.error);
  const store = await openDialStore(databases, `${folder}/dial.db`, random.uuid());
  const stop = new AbortController();

  const onStored = () => link.wake();
  const recorder = createRecorder({ store, clock, log, onStored, signal: stop.signal });
  const stateFile = createStateFile({ files, clock, log, folder });
  const tellState = (state: AgentState, reason?: string) => {
    stateFile.tell(state, reason);
    const payload = { state, since: clock.now(), ...(reason === undefined ? {} : { reason }) };
    recorder.record([{ at: clock.now(), kind: "agent_state", payload }], { isControl: true })
      .catch((thrown) => log.error("state not recorded", { error: errorText(thrown) }));
  };
  const questions = createQuestions({ clock, random, send: (frame) => link.send(frame) });
  const link: GatewayLink = startGatewayLink(
    {
      agent: config.agent,
      userEmail: config.userEmail,
      host: options.hostname,
      version: options.version,
      gatewayUrl: config.gatewayUrl,
      key: key.value,
    },
    {
      ...{ store, sockets, clock, random, log },
      onFrame: (frame) => handleFrame(frame, { store, link, runner, questions, approvals, log }),
      onRegistered: () => questions.askAgain(),
      onAcknowledged: () => recorder.roomMade(),
    },
  );
  let isBusy = false;
  const approvals = openApprovals({
    ...{ agent: config.agent, store, clock, random, log, onStored },
    onWaiting: (isWaiting) =>
      tellState(isWaiting ? "waiting-approval" : isBusy ? "working" : "idle"),
  });
  options.permissions?.open(approvals);
  const { driver } = options;
  const runtime = superviseRuntime({ driver, clock, random, log, onState: tellState });
  const runner = startTurnRunner({
    ...{ store, recorder, runtime, clock, log },
    onPreview: (event) => link.preview(event),
    onBusy: (busy) => {
      isBusy = busy;
      tellState(busy ? "working" : "idle");
    },
    onEnded: (turnId) => approvals.turnEnded(turnId),
  });
  const path = config.paths.dialSocket(config.agent);
  const local = await openLocalSocket(path, {
    ...{ sockets, users: ports.users, questions, approvals, log },
    isRootless: config.paths.root !== "/",
  })
    .catch((thrown) => {
      // Without it the agent cannot write to others; everything else works.
      log.error("local socket is not open", { error: errorText(thrown) });
      return undefined;
    });

  return ok({
    isConnected: () => link.isRegistered(),
    close: async () => {
      tellState("stopping");
      const idle = runner.close();
      await runtime.close(RUNTIME_GRACE_MS);
      await idle;
      tellState("stopped");
      await local?.close();
      await link.close(OUTBOX_GRACE_MS);
      await stateFile.settled();
      stop.abort();
      store.close();
    },
  });
}

/** Does what the gateway says. */
function handleFrame(
  frame: InboundFrame,
  parts: {
    readonly store: DialStore;
    readonly link: GatewayLink;
    readonly runner: TurnRunner;
    readonly questions: GatewayQuestions;
    readonly approvals: Approvals;
    readonly log: Log;
  },
): void {
  const { store, link, runner, questions, approvals, log } = parts;
  switch (frame.type) {
    case "turn": {
      const { turn_id: turnId, text, origin } = frame;
      const accepted = store.accept({ turnId, text, origin });
      if (!accepted.ok) {
        log.error("turn not stored", { turn: turnId, code: accepted.error.code });
        return link.reconnect(CLOSE.tryAgainLater, "storage");
      }
      link.send({ type: "turn_accepted", turn_id: turnId });
      return runner.wake();
    }
    case "cancel":
      runner.cancel(frame.turn_id)
        .catch((thrown) => log.error("turn not cancelled", { error: errorText(thrown) }));
      return;
    case "approval_decision": {
      const { approval_id: id, digest, decision, by, surface, reason } = frame;
      const decided = approvals.decide({ id, digest, decision, by, surface, reason });
      if (!decided.ok) log.info("decision not taken", { id, code: decided.error.code });
      return;
    }
    case "message_result":
    case "agents_result":
      return questions.answered(frame);
    case "ack":
    case "closing":
      return;
  }
}
