/**
 * Driver for runtimes that speak the Agent Client Protocol (v1) over stdio: starts the program,
 * resumes or begins the conversation, and runs turns. Works with any ACP agent. Decides nothing
 * about permissions: requests are passed to `decidePermission`, and without one they are denied.
 * Questions are passed to `askQuestion`.
 *
 * Back-pressure: messages are pulled from the runtime one by one. A `session/update` is handled
 * completely before the next line is read, so the answer to a prompt always comes after every
 * update of its turn.
 *
 * @module
 */

import { type AnyMessage, client, type ClientConnection, methods } from "@agentclientprotocol/sdk";
import { errorText } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Child } from "core/ports/processes.ts";
import type { RuntimeDriver, RuntimeSession } from "units/dial/runtimes/driver.ts";
import { answerElicitation, type ElicitationContext } from "units/dial/runtimes/acp_elicitation.ts";
import { openConversation } from "units/dial/runtimes/acp_open.ts";
import {
  answerPermission,
  type AskContext,
  type PermissionDecider,
} from "units/dial/runtimes/acp_permission.ts";
import { acpSession, RUNTIME_GONE, type TurnSlot } from "units/dial/runtimes/acp_session.ts";
import {
  CANCEL_MS,
  type DriverOptions,
  type DriverPorts,
  launchIn,
  NOT_NEEDED,
  type RuntimeLaunch,
  spawnRuntime,
} from "units/dial/runtimes/launch.ts";
import { createLeftRunning } from "units/dial/runtimes/left_running.ts";
import { withLossNotice } from "units/dial/runtimes/lost_conversation.ts";
import { openSessionFile } from "units/dial/runtimes/session_file.ts";
import { jsonLineWriter, parseJsonLine } from "core/text/json_lines.ts";
import { readLines } from "core/text/lines.ts";
import { proxiedOf } from "core/runtimes/mcp_entries.ts";
import { createVersionWatch, type VersionWatch } from "units/dial/runtimes/version_watch.ts";
import { superviseChild, type SupervisedChild } from "units/dial/runtimes/supervise.ts";
import { createPendingDenials, type PendingDenials } from "units/dial/runtimes/pending_denials.ts";

/** Creates the driver of one agent's ACP runtime; starts nothing until `start` is called. */
export function acpDriver(
  launch: RuntimeLaunch,
  ports: DriverPorts,
  options: DriverOptions,
): RuntimeDriver {
  // Kept across restarts: these are denials that the model has not seen yet. Those of another
  // conversation are dropped: they would reveal its calls.
  let denials = createPendingDenials();
  let last: string | undefined;
  const { runtime, known } = launch;
  const versions = createVersionWatch({ runtime, known, log: ports.log });
  return {
    async start(signal, conversation, folder) {
      if (conversation !== last) denials = createPendingDenials();
      last = conversation;
      const sessionFile = await openSessionFile(ports, options.sessionFile, conversation);
      return await startSession({
        launch: launchIn(launch, folder),
        ports,
        options,
        denials,
        versions,
        signal,
        sessionFile,
      });
    },
  };
}

interface Starter {
  readonly launch: RuntimeLaunch;
  readonly ports: DriverPorts;
  readonly options: DriverOptions;
  readonly denials: PendingDenials;
  readonly versions: VersionWatch;
  readonly signal: AbortSignal | undefined;
  /** File that stores the id of the conversation. */
  readonly sessionFile: string;
}

async function startSession(
  { launch, ports, options, denials, versions, signal, sessionFile }: Starter,
): Promise<RuntimeSession> {
  const { mcps } = options;
  const entries = mcps?.isInSession === true ? await mcps.read() : [];
  const servers = entries.map(({ name }) => name);
  const child = await spawnRuntime(launch, ports.processes);
  const supervised = superviseChild(child, ports, launch.runtime);
  const leftRunning = createLeftRunning(child, entries);
  const slot: TurnSlot = {
    turn: undefined,
    busy: false,
    lastOutputMs: ports.clock.monotonic(),
  };
  const input = child.stdin.getWriter();
  const askContext: AskContext = {
    servers,
    proxied: proxiedOf(entries),
    callOf: (callId) => slot.turn?.running.callOf(callId),
    signal: () => slot.turn?.running.cancelled,
    onDenied: (callId, reason) => {
      if (slot.turn?.running.deny(callId) === true) denials.add(reason);
    },
  };
  const connection = connect(child, input, {
    slot,
    context: askContext,
    decide: options.decidePermission,
    clock: ports.clock,
    questions: {
      ask: options.askQuestion,
      signal: askContext.signal,
      onNotice: (update) => void slot.turn?.running.take(update),
    },
  });
  void endConnection({ connection, supervised, slot, clock: ports.clock, input });
  const isOpen = limitStart(connection, { startMs: options.startMs, clock: ports.clock, signal });
  try {
    const opening = { connection, launch, ports, sessionFile, entries, versions };
    const opened = await openConversation(opening);
    leftRunning.ready();
    const session = acpSession({
      connection,
      ...opened,
      leftRunning,
      slot,
      supervised,
      ports,
      servers,
      denials,
      versions,
      endInput: () =>
        input.close().catch(() => {
          // The process has already ended, which is what closing its input should achieve.
        }),
      cancelMs: options.cancelMs ?? CANCEL_MS,
    });
    return opened.lost === undefined ? session : withLossNotice(session, opened.lost);
  } catch (error) {
    child.kill("SIGKILL");
    const ended = await supervised.exited;
    const isOurs = ended.signal === "SIGKILL";
    throw new Error(
      `Cannot start runtime "${launch.runtime}": ${errorText(error)}` +
        (isOurs ? supervised.stderrTail() : `; ${supervised.sentence(ended)}`),
    );
  } finally {
    isOpen();
  }
}

/** Closes a connection that opens too late or is no longer needed, until the returned call. */
function limitStart(
  connection: ClientConnection,
  { startMs, clock, signal }: {
    readonly startMs: number;
    readonly clock: Clock;
    readonly signal: AbortSignal | undefined;
  },
): () => void {
  const stopTimer = clock.after(startMs, () => {
    connection.close(new Error(`it did not answer within ${startMs / 1000} s`));
  });
  const onAbort = () => connection.close(new Error(NOT_NEEDED));
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted === true) onAbort();
  return () => {
    signal?.removeEventListener("abort", onAbort);
    stopTimer();
  };
}

/** How long to wait for output that is still in the pipe after the process has ended. */
const OUTPUT_AFTER_EXIT_MS = 2_000;

/**
 * Closes the connection after the process has ended. Output already in the pipe is still read, even
 * if its updates take long to store. A grandchild that keeps the pipe open is not waited for.
 */
async function endConnection(of: {
  readonly connection: ClientConnection;
  readonly supervised: SupervisedChild;
  readonly slot: TurnSlot;
  readonly clock: Clock;
  readonly input: WritableStreamDefaultWriter<Uint8Array>;
}): Promise<void> {
  await of.supervised.exited;
  await of.input.abort().catch(() => {
    // Already closed; `abort` only frees the descriptor.
  });
  const { signal } = of.connection;
  do await of.clock.sleep(OUTPUT_AFTER_EXIT_MS, signal); while (of.slot.busy && !signal.aborted);
  of.connection.close(new Error(RUNTIME_GONE));
}

function connect(
  child: Child,
  input: WritableStreamDefaultWriter<Uint8Array>,
  owner: {
    readonly slot: TurnSlot;
    readonly context: AskContext;
    readonly decide: PermissionDecider | undefined;
    readonly clock: Pick<Clock, "monotonic">;
    readonly questions: ElicitationContext;
  },
): ClientConnection {
  return client({ name: "fleetctl" })
    .onRequest(
      methods.client.session.requestPermission,
      ({ params }) => answerPermission(params, owner.decide, owner.context),
    )
    .onRequest(
      methods.client.elicitation.create,
      ({ params, signal }) => answerElicitation(params, signal, owner.questions),
    )
    .connect({
      writable: jsonLineWriter<AnyMessage>(input),
      readable: messagesOf(child, owner.slot, owner.clock),
    });
}

/** Passes messages on, except session updates. Those go directly to the running turn. */
function messagesOf(
  child: Child,
  slot: TurnSlot,
  clock: Pick<Clock, "monotonic">,
): ReadableStream<AnyMessage> {
  const lines = readLines(child.stdout, { lineBytesMax: MCP_LIMITS.messageBytesMax });
  return new ReadableStream<AnyMessage>({
    async pull(controller) {
      while (true) {
        const { value, done } = await lines.next();
        if (done) return controller.close();
        slot.lastOutputMs = clock.monotonic();
        const message = parseJsonLine(value);
        // Agents print banners on stdout, so lines that are not messages are skipped.
        if (message === undefined || message.jsonrpc !== "2.0") continue;
        if (message.method === methods.client.session.update && message.id === undefined) {
          slot.busy = true;
          await slot.turn?.onUpdate(message.params);
          slot.busy = false;
          continue;
        }
        return controller.enqueue(message as AnyMessage);
      }
    },
    async cancel() {
      await lines.return();
    },
  }, { highWaterMark: 0 });
}
