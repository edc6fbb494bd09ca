/**
 * Wires a dial unit: a connection to each gateway, the runtime that they share, and the local
 * socket. The caller passes the runtime's driver and the ports, so the tests start a unit exactly
 * as `units/dial/main.ts` does.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { AgentState, PreviewEvent } from "core/dial/event.ts";
import type { DialKey } from "core/dial/proof.ts";
import { errorText } from "core/errors.ts";
import { createKeyedQueue } from "core/concurrency/keyed_queue.ts";
import type { ReportedSandbox } from "core/dial/host_state.ts";
import type { Host } from "core/ports/host.ts";
import { err, ok, type Result } from "core/result.ts";
import type { RuntimeDriver } from "units/dial/runtimes/driver.ts";
import { createStates, type States } from "units/dial/agent_states.ts";
import type { Approvals } from "units/dial/approvals.ts";
import { openCeilings } from "units/dial/ceilings.ts";
import { joinCutNotes } from "units/dial/cut_table.ts";
import type { DialConfig } from "units/dial/config.ts";
import { loadDialKey } from "units/dial/key_file.ts";
import { createConversations } from "units/dial/conversations.ts";
import { createOwnerFiles, type OwnerFiles } from "units/dial/owner_files.ts";
import {
  type AnswerFrame,
  type GatewayConnection,
  type GatewayConnectionDeps,
  openGatewayConnection,
  type TurnHandlers,
} from "units/dial/gateway_connection.ts";
import { createJournalFiles, type JournalFiles } from "units/dial/journals.ts";
import { createLocalTurnFiles } from "units/dial/local_turn_files.ts";
import { createLocalTurns, type LocalTurns } from "units/dial/local_turns.ts";
import { type LocalSocketDeps, openLocalSocket } from "units/dial/local_socket.ts";
import type { McpStates } from "units/dial/mcp_states.ts";
import { createQuestions, type GatewayQuestions } from "units/dial/messages.ts";
import type { PermissionEndpoint } from "units/dial/permission.ts";
import { openPending } from "units/dial/pending.ts";
import type { PersonQuestions } from "units/dial/person_questions.ts";
import type { QuestionEndpoint } from "units/dial/question_endpoint.ts";
import { superviseRuntime } from "units/dial/runtime.ts";
import type { DialStore } from "units/dial/store.ts";
import { openTurnFolder, type TurnFolder } from "units/dial/turn_folder.ts";
import { registration } from "units/dial/registration.ts";
import { createReplacement } from "units/dial/replacement.ts";
import type { Worktrees } from "units/dial/worktrees/worktrees.ts";
import { createUsageReader, type StoreName } from "units/dial/usage_reader.ts";

/** Ports of a dial unit. */
export type DialPorts = Pick<
  Host,
  "clock" | "random" | "files" | "sockets" | "databases" | "users" | "log"
>;

/** What a dial unit needs besides its settings. */
export interface DialOptions {
  readonly driver: RuntimeDriver;
  /** Receives reports about the MCPs that the runtime has. */
  readonly mcps: McpStates;
  /** Idle time after which the runtime's program sleeps; absent for never. */
  readonly idleMs?: number | undefined;
  /** Answers the runtime's permission requests once approvals are open. */
  readonly permissions?: PermissionEndpoint;
  /** Folders of the conversations; absent when all share one. */
  readonly worktrees?: Worktrees;
  /** Asks a person for the runtime once questions are open. */
  readonly asks?: QuestionEndpoint;
  /** Called when the runtime's program sleeps: this process then waits, maybe for days. */
  readonly releaseMemory?: () => void;
  /** Whether the sandbox of commands can be built; absent without one. */
  readonly sandbox?: ReportedSandbox;
  readonly hostname: string;
  readonly version: string;
}

/** The running dial unit. */
export interface DialUnit {
  isConnected(): boolean;
  /** Ends the runtime, sends the waiting events, sends `bye` and closes the connections. */
  close(): Promise<void>;
}

/** Time limits when the unit stops: for the runtime to end, and for the outbox to drain. */
const RUNTIME_GRACE_MS = 5_000;
const OUTBOX_GRACE_MS = 2_000;

/** State that the components of one unit share. */
interface UnitContext extends DialPorts {
  readonly config: DialConfig;
  readonly options: DialOptions;
  readonly folder: string;
  readonly turnFolder: TurnFolder;
  readonly key: DialKey;
  /** Runs one turn at a time, across all gateways. */
  readonly exclusive: (job: () => Promise<void>) => Promise<void>;
  /** Ends the connections to all gateways. */
  readonly signal: AbortSignal;
  /** Components that callbacks use. Each is undefined until it is open. */
  readonly open: {
    cockpit?: GatewayConnection;
    teams?: GatewayConnection;
    turns?: LocalTurns;
    readonly usage: Map<StoreName, DialStore["usage"]>;
  };
}

/** Starts the dial unit. Refuses a damaged key; rejects when its folder cannot be used. */
export async function startDialUnit(
  config: DialConfig,
  ports: DialPorts,
  options: DialOptions,
): Promise<Result<DialUnit>> {
  const { clock, random, files } = ports;
  const log = ports.log.with({ agent: config.agent });
  const folder = config.paths.dialState(config.agent);
  await files.ensureDir(folder, { mode: 0o700 });
  if (config.teamchat !== undefined) await files.ensureDir(`${folder}/send`, { mode: 0o700 });
  const key = await loadDialKey(files, `${folder}/key.json`);
  if (!key.ok) return err(key.error);
  const stop = new AbortController();
  const unit = createContext(config, { ...ports, log }, {
    options,
    folder,
    key: key.value,
    signal: stop.signal,
  });
  const states = createStates({ ...unit, ...options, recorder: () => unit.open.cockpit?.recorder });
  const outgoing = createOutgoing(unit);
  const own = await openConnections(unit, states, outgoing);
  const { teams } = unit.open;
  const connections = teams === undefined ? [own] : [own, teams];
  const turns = unit.open.turns = createLocalTurns({ connection: own, clock, random, log });
  const pending = openPending({
    agent: config.agent,
    clock,
    random,
    log,
    own: own.store,
    ...defined({ teams: teams?.store, askSeconds: config.askSeconds }),
    onStored: () => connections.forEach(({ link }) => link.wake()),
    onWaiting: states.waiting,
  });
  const { approvals, personQuestions } = pending;
  options.permissions?.open(approvals);
  options.asks?.open(personQuestions);
  const runtime = startRuntime(unit, states, personQuestions);
  const spending = await openSpending(unit, states, approvals);
  const cuts = joinCutNotes(connections.map(({ store }) => store.cuts));
  const handlers = { runtime, ceilings: spending.ceilings, cuts, ...pending.handlers };
  const journals = await startConnections(unit, connections, handlers);
  const conversations = createConversations({ ...unit, connections, runtime });
  const replacement = createReplacement({ ...unit, connections, isWaiting: states.isWaiting });
  const asked = { approvals, personQuestions, replacement };
  const served = { ...outgoing, ...spending, ...asked, turns, conversations };
  const local = await openSocket(unit, served);
  return ok({
    isConnected: () => connections.some(({ link }) => link.isRegistered()),
    close: async () => {
      states.report("stopping");
      const idle = Promise.all(connections.map((connection) => connection.idle()));
      replacement.release();
      await runtime.close(RUNTIME_GRACE_MS);
      await idle;
      spending.ceilings.close();
      personQuestions.withdrawAll();
      states.report("stopped");
      await local?.close();
      pending.close();
      await Promise.all(connections.map((connection) => connection.close(OUTBOX_GRACE_MS)));
      options.mcps.forget();
      await Promise.all([states.settled(), options.mcps.settled(), journals.settled()]);
      stop.abort();
    },
  });
}

function createContext(
  config: DialConfig,
  ports: DialPorts,
  parts: Pick<UnitContext, "options" | "folder" | "key" | "signal">,
): UnitContext {
  const { files, log } = ports;
  const runOne = createKeyedQueue((_name, thrown) =>
    log.error("turn failed", { error: errorText(thrown) })
  );
  return {
    ...ports,
    ...parts,
    config,
    turnFolder: openTurnFolder({ files, folder: `${parts.folder}/files`, log }),
    exclusive: (job) => runOne("runtime", job),
    open: { usage: new Map() },
  };
}

/** Starts running turns; keeps only the journals of running ones. */
async function startConnections(
  { config, options, files, log }: UnitContext,
  connections: readonly GatewayConnection[],
  handlers: TurnHandlers,
): Promise<JournalFiles> {
  const journals = createJournalFiles({
    files,
    log,
    folder: config.paths.journals(config.agent),
    runningTurns: () => connections.flatMap(({ store }) => store.runningTurns()),
  });
  await journals.tidy();
  // A turn that continues comes before those that wait: it is the open one of its conversation.
  const inOrder = connections.toSorted((one, other) =>
    other.store.runningTurns().length - one.store.runningTurns().length
  );
  for (const connection of inOrder) {
    connection.start({
      ...handlers,
      worktrees: options.worktrees,
      onEnded: (turnId) => {
        handlers.onEnded(turnId);
        handlers.ceilings?.turnEnded(turnId);
        void journals.tidy();
      },
    });
  }
  return journals;
}

/** Opens what the agent has used, its spend ceilings, and those of its host. */
async function openSpending(unit: UnitContext, states: States, approvals: Approvals) {
  const { config, files, databases, folder, clock, log } = unit;
  const usage = createUsageReader({ files, databases, folder, open: unit.open.usage });
  const ceilings = await openCeilings({
    agent: config.agent,
    paths: config.paths,
    files,
    folder,
    clock,
    log,
    usage,
    approvals,
    onPaused: states.paused,
  });
  return { usage, ceilings };
}

/** What the agent's programs send to other agents and to the owner. */
interface Outgoing {
  readonly questions: GatewayQuestions;
  readonly ownerFiles: OwnerFiles;
}

function createOutgoing({ files, clock, random, folder, open }: UnitContext): Outgoing {
  const hasTeamchat = () => open.teams !== undefined;
  return {
    questions: createQuestions({
      clock,
      random,
      send: (frame) =>
        (frame.type === "owner_message" ? open.teams : open.cockpit)?.link.send(frame),
      hasTeamchat,
    }),
    ownerFiles: createOwnerFiles({
      files,
      clock,
      random,
      folder: `${folder}/send`,
      send: (frame) => open.teams?.link.send(frame),
      hasTeamchat,
    }),
  };
}

/**
 * Opens the connections to the configured gateways. Returns the connection for turns of this host:
 * the cockpit's, or, without a cockpit, one that has no gateway.
 */
async function openConnections(
  unit: UnitContext,
  states: States,
  { questions, ownerFiles }: Outgoing,
): Promise<GatewayConnection> {
  const { config, options, databases, sockets, clock, random, log, folder, key } = unit;
  const shared = {
    databases,
    sockets,
    clock,
    random,
    log,
    signal: unit.signal,
    turnFolder: unit.turnFolder,
    exclusive: unit.exclusive,
    onPreview: (event: PreviewEvent) => unit.open.turns?.preview(event),
    onBusy: states.busy,
    onAnswer: (frame: AnswerFrame) =>
      questions.answered(frame) ||
      frame.type === "owner_message_result" && ownerFiles.answered(frame),
  };
  const open = async (name: StoreName, deps: Omit<GatewayConnectionDeps, "path">) => {
    const connection = await openGatewayConnection({ ...deps, path: `${folder}/${name}` });
    unit.open.usage.set(name, connection.store.usage);
    return connection;
  };
  const { agent, cockpitUrl, userEmail, teamchat } = config;
  const identity = { agent, host: options.hostname, version: options.version, key };
  if (userEmail !== undefined) {
    unit.open.cockpit = await open("dial.db", {
      ...shared,
      identity: { ...identity, userEmail, gatewayUrl: cockpitUrl },
      onRegistered: () => questions.resend(),
    });
  }
  if (teamchat !== undefined) {
    unit.open.teams = await open("teamchat.db", {
      ...shared,
      log: log.with({ line: "teamchat" }),
      identity: { ...identity, userEmail: userEmail ?? "", gatewayUrl: teamchat.url },
      opening: () => registration(agent, teamchat, { key, clock, random }),
      onRegistered: () => {
        questions.resend();
        ownerFiles.resend();
      },
      onFileTaken: ownerFiles.taken,
    });
  }
  return unit.open.cockpit ?? await open("local.db", {
    ...shared,
    log: log.with({ line: "local" }),
    identity: undefined,
    onRegistered: () => {},
  });
}

function startRuntime(
  { options, clock, random, log }: UnitContext,
  states: States,
  personQuestions: PersonQuestions,
) {
  const { driver, mcps, idleMs, releaseMemory } = options;
  const onState = (state: AgentState | "asleep", reason?: string) => {
    if (state === "starting" || state === "failed") {
      mcps.forget();
      // The program that asked has ended.
      personQuestions.withdrawAll();
    }
    states.runtime(state, reason);
    if (state === "asleep") releaseMemory?.();
  };
  return superviseRuntime({
    driver,
    clock,
    random,
    log,
    onState,
    onLeaving: () => mcps.hold(),
    idleMs,
    isNeeded: states.isWaiting,
  });
}

/**
 * Opens the local socket. Without it, turns from a gateway still run. Messages, files to the owner,
 * approvals (calls that need one are refused) and `fleetctl turn` do not work.
 */
async function openSocket(
  unit: UnitContext,
  served: Omit<
    LocalSocketDeps,
    "agent" | "sockets" | "users" | "mcps" | "log" | "isRootless" | "openTurnFiles"
  >,
): Promise<{ close(): Promise<void> } | undefined> {
  const { config: { agent, paths }, options, log, random } = unit;
  try {
    return await openLocalSocket(paths.dialSocket(agent), {
      ...unit,
      ...served,
      agent,
      mcps: options.mcps,
      openTurnFiles: createLocalTurnFiles(unit.turnFolder, random),
      isRootless: paths.root !== "/",
    });
  } catch (thrown) {
    log.error("local socket is not open", { error: errorText(thrown) });
    return undefined;
  }
}
