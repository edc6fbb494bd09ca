/**
 * Driver for runtimes that speak the Agent Client Protocol (v1) over stdio: starts the program,
 * resumes or begins the conversation, and runs turns. Works with any ACP agent. Decides nothing
 * about permissions: requests go to `decidePermission`, and without one they are denied.
 *
 * Back-pressure: messages are pulled from the runtime one by one, and a `session/update` is
 * handled to its end before the next line is read. The answer to a prompt therefore always comes
 * after every update of its turn.
 *
 * @module
 */

import {
  type AnyMessage,
  client,
  type ClientConnection,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
} from "@agentclientprotocol/sdk";
import { errorText } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits.ts";
import type { Child, Clock, Log } from "core/ports.ts";
import type { RuntimeDriver, RuntimeSession } from "core/runtimes/driver.ts";
import { answerPermission, type PermissionDecider } from "core/runtimes/drivers/acp_permission.ts";
import { acpSession, RUNTIME_GONE, type TurnSlot } from "core/runtimes/drivers/acp_session.ts";
import {
  CANCEL_MS,
  type DriverOptions,
  type DriverPorts,
  rememberedSession,
  rememberSession,
  type RuntimeLaunch,
  spawnRuntime,
  START_MS,
} from "core/runtimes/drivers/launch.ts";
import { jsonLineWriter, parseJsonLine, readLines } from "core/runtimes/drivers/json_lines.ts";
import { superviseChild, type SupervisedChild } from "core/runtimes/drivers/supervise.ts";

/** Creates the driver of one agent's ACP runtime; nothing is started before `start`. */
export function acpDriver(
  launch: RuntimeLaunch,
  ports: DriverPorts,
  options: DriverOptions,
): RuntimeDriver {
  return { start: () => startSession(launch, ports, options) };
}

async function startSession(
  launch: RuntimeLaunch,
  ports: DriverPorts,
  options: DriverOptions,
): Promise<RuntimeSession> {
  const child = await spawnRuntime(launch, ports.processes);
  const supervised = superviseChild(child, ports, launch.runtime);
  const slot: TurnSlot = { turn: undefined, busy: false };
  const input = child.stdin.getWriter();
  const connection = connect(child, input, { slot, decide: options.decidePermission });
  void endConnection({ connection, supervised, slot, clock: ports.clock, input });
  const startMs = options.startMs ?? START_MS;
  const stopTimer = ports.clock.after(startMs, () => {
    connection.close(new Error(`it did not answer within ${startMs / 1000} s`));
  });
  try {
    const sessionId = await openConversation(connection, launch, ports, options.sessionFile);
    return acpSession({
      connection,
      sessionId,
      slot,
      supervised,
      ports,
      endInput: () =>
        input.close().catch(() => {
          // It has ended already, which is what closing its input is for.
        }),
      cancelMs: options.cancelMs ?? CANCEL_MS,
    });
  } catch (error) {
    child.kill("SIGKILL");
    const ended = await supervised.exited;
    const isOurs = ended.signal === "SIGKILL";
    throw new Error(
      `Cannot start runtime "${launch.runtime}": ${errorText(error)}` +
        (isOurs ? supervised.lastWords() : `; ${supervised.sentence(ended)}`),
    );
  } finally {
    stopTimer();
  }
}

/** Output that was written before the end may still be in the pipe; after this it is given up. */
const OUTPUT_AFTER_EXIT_MS = 2_000;

/**
 * Ends the connection after the process. What the runtime wrote before is still read, however long
 * its updates wait to be stored; but a grandchild that holds the pipe open is not waited for.
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
    // It is closed already; this only frees the descriptor.
  });
  const { signal } = of.connection;
  do await of.clock.sleep(OUTPUT_AFTER_EXIT_MS, signal); while (of.slot.busy && !signal.aborted);
  of.connection.close(new Error(RUNTIME_GONE));
}

function connect(
  child: Child,
  input: WritableStreamDefaultWriter<Uint8Array>,
  owner: { readonly slot: TurnSlot; readonly decide: PermissionDecider | undefined },
): ClientConnection {
  return client({ name: "fleetctl" })
    .onRequest(
      methods.client.session.requestPermission,
      ({ params }) => answerPermission(params, owner.decide),
    )
    .connect({
      writable: jsonLineWriter<AnyMessage>(input),
      readable: messagesOf(child, owner.slot),
    });
}

/** Hands messages on, except session updates, which go to the running turn right here. */
function messagesOf(child: Child, slot: TurnSlot): ReadableStream<AnyMessage> {
  const lines = readLines(child.stdout, { lineBytesMax: MCP_LIMITS.messageBytesMax });
  return new ReadableStream<AnyMessage>({
    async pull(controller) {
      while (true) {
        const { value, done } = await lines.next();
        if (done) return controller.close();
        const message = parseJsonLine(value);
        // Agents print banners on stdout; a line that is no message is no reason to end.
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

async function openConversation(
  connection: ClientConnection,
  launch: RuntimeLaunch,
  ports: DriverPorts,
  sessionFile: string,
): Promise<string> {
  const agent = connection.agent;
  const peer = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: "fleetctl", version: "0.1.0" },
    clientCapabilities: {},
  });
  if (peer.protocolVersion !== PROTOCOL_VERSION) {
    throw new Error(
      `it speaks ACP version ${peer.protocolVersion}, must speak version ${PROTOCOL_VERSION}`,
    );
  }
  const stored = await rememberedSession(ports.files, sessionFile, launch.runtime);
  if (
    stored !== undefined && await resumeConversation(connection, peer, launch, stored, ports.log)
  ) return stored;
  const { sessionId } = await agent.request(methods.agent.session.new, {
    cwd: launch.cwd,
    mcpServers: [],
  });
  await rememberSession(ports.files, sessionFile, { runtime: launch.runtime, sessionId });
  return sessionId;
}

async function resumeConversation(
  connection: ClientConnection,
  peer: InitializeResponse,
  launch: RuntimeLaunch,
  sessionId: string,
  log: Log,
): Promise<boolean> {
  const capabilities = peer.agentCapabilities;
  const params = { sessionId, cwd: launch.cwd, mcpServers: [] };
  try {
    if (capabilities?.sessionCapabilities?.resume) {
      await connection.agent.request(methods.agent.session.resume, params);
      return true;
    }
    if (capabilities?.loadSession === true) {
      // The replay that comes with it is dropped: no turn is running, and the log has it already.
      await connection.agent.request(methods.agent.session.load, params);
      return true;
    }
    return false;
  } catch (error) {
    if (connection.signal.aborted) throw error;
    log.warning("conversation lost", {
      runtime: launch.runtime,
      session: sessionId,
      reason: errorText(error),
    });
    return false;
  }
}
