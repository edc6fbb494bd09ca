/**
 * Wires a dial unit: a line to each gateway, the runtime that they share, the local socket. Takes
 * the runtime's driver and ports; `units/dial/main.ts` and the tests start it the same way.
 *
 * @module
 */

import type { AgentState, PreviewEvent } from "core/dial/event.ts";
import type { DialKey } from "core/dial/proof.ts";
import { errorText } from "core/errors.ts";
import { createLanes } from "core/lanes.ts";
import type { Host, Log } from "core/ports.ts";
import { err, ok, type Result } from "core/result.ts";
import type { RuntimeDriver } from "core/runtimes/driver.ts";
import { signRegistration } from "core/teamchat/registration.ts";
import { joinApprovalStores } from "units/dial/approval_stores.ts";
import { type Approvals, openApprovals } from "units/dial/approvals.ts";
import type { DialConfig } from "units/dial/config.ts";
import type { LinkOpening } from "units/dial/gateway_link.ts";
import { loadDialKey } from "units/dial/key_file.ts";
import { createOwnerFiles } from "units/dial/owner_files.ts";
import { createTurnFiles } from "units/dial/turn_files.ts";
import { type AnswerFrame, type DecisionFrame, openLine } from "units/dial/line.ts";
import { createLocalTurns, type LocalTurns } from "units/dial/local_turns.ts";
import { openLocalSocket } from "units/dial/local_socket.ts";
import { createQuestions } from "units/dial/messages.ts";
import type { PermissionDesk } from "units/dial/permission.ts";
import { superviseRuntime } from "units/dial/runtime.ts";
import { createStateFile } from "units/dial/state_file.ts";

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
  if (config.teamchat !== undefined) await files.ensureDir(`${folder}/send`, { mode: 0o700 });
  const key = await loadDialKey(files, `${folder}/key.json`);
  if (!key.ok) return err(key.error);
  const stop = new AbortController();
  const stateFile = createStateFile({ files, clock, log, folder });
  const tellState = (state: AgentState, reason?: string) => {
    stateFile.tell(state, reason);
    const payload = { state, since: clock.now(), ...(reason === undefined ? {} : { reason }) };
    cockpit?.recorder.record([{ at: clock.now(), kind: "agent_state", payload }], {
      isControl: true,
    }).catch((thrown) => log.error("state not recorded", { error: errorText(thrown) }));
  };
  let turns: LocalTurns | undefined = undefined;
  const questions = createQuestions({
    ...{ clock, random },
    send: (frame) => (frame.type === "owner_message" ? teams : cockpit)?.link.send(frame),
    hasTeamchat: () => teams !== undefined,
  });
  const ownerFiles = createOwnerFiles({
    ...{ files, clock, random, folder: `${folder}/send` },
    send: (frame) => teams?.link.send(frame),
    hasTeamchat: () => teams !== undefined,
  });
  const runOne = createLanes((_name, thrown) =>
    log.error("turn failed", { error: errorText(thrown) })
  );
  let isBusy = false;
  const shared = {
    ...{ databases, sockets, clock, random, log, signal: stop.signal },
    exclusive: (job: () => Promise<void>) => runOne("runtime", job),
    onPreview: (event: PreviewEvent) => turns?.preview(event),
    onBusy: (busy: boolean) => {
      isBusy = busy;
      tellState(busy ? "working" : "idle");
    },
    onAnswer: (frame: AnswerFrame) =>
      questions.answered(frame) ||
      frame.type === "owner_message_result" && ownerFiles.answered(frame),
  };
  const identity = { agent: config.agent, host: options.hostname, version: options.version };
  const { cockpitUrl, userEmail, teamchat } = config;
  const cockpit = userEmail === undefined ? undefined : await openLine({
    ...shared,
    identity: { ...identity, userEmail, gatewayUrl: cockpitUrl, key: key.value },
    path: `${folder}/dial.db`,
    onRegistered: () => questions.askAgain(),
  });
  const teams = teamchat === undefined ? undefined : await openLine({
    ...shared,
    log: log.with({ line: "teamchat" }),
    identity: {
      ...identity,
      userEmail: userEmail ?? "",
      gatewayUrl: teamchat.url,
      key: key.value,
    },
    opening: () => registration(config.agent, teamchat, { key: key.value, clock, random }),
    path: `${folder}/teamchat.db`,
    onRegistered: () => {
      questions.askAgain();
      ownerFiles.sendAgain();
    },
    turnFiles: createTurnFiles({ files, log, folder: `${folder}/files` }),
    onFileTaken: ownerFiles.taken,
  });
  const own = cockpit ?? await openLine({
    ...shared,
    log: log.with({ line: "local" }),
    identity: undefined,
    path: `${folder}/local.db`,
    onRegistered: () => {},
  });
  turns = createLocalTurns({ line: own, clock, random, log });
  const lines = teams === undefined ? [own] : [own, teams];
  const approvals = openApprovals({
    ...{ agent: config.agent, clock, random, log },
    store: joinApprovalStores(own.store, ...(teams === undefined ? [] : [teams.store])),
    onStored: () => lines.forEach(({ link }) => link.wake()),
    onWaiting: (isWaiting) =>
      tellState(isWaiting ? "waiting-approval" : isBusy ? "working" : "idle"),
  });
  options.permissions?.open(approvals);
  const { driver } = options;
  const runtime = superviseRuntime({ driver, clock, random, log, onState: tellState });
  for (const line of lines) {
    line.start({
      runtime,
      onEnded: (turnId) => approvals.turnEnded(turnId),
      onDecision: (decision) => decide(approvals, decision, log),
    });
  }
  const path = config.paths.dialSocket(config.agent);
  const local = await openLocalSocket(path, {
    ...{ agent: config.agent, sockets, users: ports.users },
    ...{ questions, ownerFiles, approvals, turns, log },
    isRootless: config.paths.root !== "/",
  })
    .catch((thrown) => {
      // Without it the agent cannot write to others; everything else works.
      log.error("local socket is not open", { error: errorText(thrown) });
      return undefined;
    });

  return ok({
    isConnected: () => lines.some(({ link }) => link.isRegistered()),
    close: async () => {
      tellState("stopping");
      const idle = Promise.all(lines.map((line) => line.idle()));
      await runtime.close(RUNTIME_GRACE_MS);
      await idle;
      tellState("stopped");
      await local?.close();
      await Promise.all(lines.map((line) => line.close(OUTBOX_GRACE_MS)));
      await stateFile.settled();
      stop.abort();
    },
  });
}

/** What opens a connection to the team-chat gateway: a fresh statement, signed with the dial key. */
async function registration(
  agent: string,
  { url, owner }: NonNullable<DialConfig["teamchat"]>,
  { key, clock, random }: Pick<DialPorts, "clock" | "random"> & { readonly key: DialKey },
): Promise<LinkOpening> {
  const statement = { agent, owner, gateway: url.host, nonce: random.uuid() };
  const token = await signRegistration(statement, key, clock.now());
  return { headers: { authorization: `Bearer ${token}` } };
}

/** Takes a decision of somebody's at a gateway; which was first is for the approvals to say. */
function decide(approvals: Approvals, frame: DecisionFrame, log: Log): void {
  const { approval_id: id, digest, decision, by, surface, reason } = frame;
  const decided = approvals.decide({ id, digest, decision, by, surface, reason });
  if (!decided.ok) log.info("decision not taken", { id, code: decided.error.code });
}
