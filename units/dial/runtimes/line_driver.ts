/**
 * A runtime that speaks lines of JSON over stdio, whichever they are: starts the program, resumes
 * the conversation or begins one, runs turns. The words of the protocol are those of a `Dialect`.
 * Why no adapter or SDK: ADR 0032.
 *
 * Back-pressure: a line is read when the updates of the one before it are handed over. Questions of
 * the runtime are answered beside that, so that a person who decides holds up nothing else.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Child } from "core/ports/processes.ts";
import type { RuntimeDriver, RuntimeSession, TurnOutcome } from "units/dial/runtimes/driver.ts";
import type { PermissionDecider } from "units/dial/runtimes/acp_permission.ts";
import { parseJsonLine } from "core/text/json_lines.ts";
import { readLines } from "core/text/lines.ts";
import {
  CANCEL_MS,
  type DriverOptions,
  type DriverPorts,
  rememberedSession,
  rememberSession,
  type RuntimeLaunch,
  spawnRuntime,
  START_MS,
  writeOwn,
} from "units/dial/runtimes/launch.ts";
import type { Message } from "units/dial/runtimes/message.ts";
import type { McpLoad } from "core/runtimes/mcp_load.ts";
import { type McpEntry, printMcpServers, proxiedOf } from "core/runtimes/mcp_entries.ts";
import { superviseChild, type SupervisedChild } from "units/dial/runtimes/supervise.ts";
import { beginTurn, failed, type RunningTurn } from "units/dial/runtimes/turn.ts";

/** What one message of the runtime amounts to. */
export interface Reading {
  /** Updates of the running turn in the words of ACP. */
  readonly updates?: readonly unknown[];
  /** The end of the running turn. */
  readonly outcome?: TurnOutcome;
}

/** What a dialect gets of its driver. */
export interface DialectParts {
  /** Conversation to go on with; undefined begins one. */
  readonly sessionId: string | undefined;
  readonly decidePermission: PermissionDecider | undefined;
  /** The folder that the program works in. */
  readonly cwd: string;
  /** Mode of the definition. */
  readonly mode: string | undefined;
  /** The MCPs that the program is given. */
  readonly entries: readonly McpEntry[];
  /** Their names. */
  readonly mcps: readonly string[];
  /** Those of them whose calls pass our proxy. */
  readonly proxied: ReadonlySet<string>;
  /** Hears how far they are whenever the runtime tells. */
  readonly onMcps: (loads: readonly McpLoad[]) => void;
  readonly clock: Pick<Clock, "sleep">;
  /** Writes a message; the runtime's end is told elsewhere, so this never rejects. */
  readonly send: (message: Message) => Promise<void>;
  /** Hears the id of the conversation whenever the runtime tells one. */
  readonly onSession: (sessionId: string) => void;
}

/** Thrown by `Dialect.open` when the runtime does not know the conversation. */
export class ConversationGone extends Error {
  override readonly name = "ConversationGone";
}

/** The words of one protocol; keeps what belongs to one process. */
export interface Dialect {
  /**
   * Greets the runtime; resolves when turns may come. Rejects with why they may not. `signal`
   * aborts when the caller no longer waits.
   */
  open(signal: AbortSignal): Promise<void>;
  /** Sends the text of a turn. */
  prompt(text: string): Promise<void>;
  /** Asks the runtime to stop the running turn. */
  cancel(): Promise<void>;
  /** Reads one message; what is not known is nothing. */
  read(message: Message): Reading;
}

/** A protocol: its extra arguments, and its words. */
export interface LineProtocol {
  /** Arguments that resume a conversation. */
  readonly resumeArgs: (sessionId: string) => readonly string[];
  /** Arguments that give the program its MCP entries from `file`; absent where it finds its own. */
  readonly mcpArgs?: (
    of: { readonly args: readonly string[]; readonly file: string },
    entries: readonly McpEntry[],
  ) => readonly string[];
  readonly createDialect: (parts: DialectParts) => Dialect;
}

/** Creates the driver of one agent's runtime; nothing is started before `start`. */
export function lineDriver(
  protocol: LineProtocol,
  launch: RuntimeLaunch,
  ports: DriverPorts,
  options: DriverOptions,
): RuntimeDriver {
  return {
    async start() {
      const { sessionFile } = options;
      const stored = await rememberedSession(ports.files, sessionFile, launch.runtime);
      const starter = { protocol, launch, ports, options };
      if (stored === undefined) return await startSession(starter, undefined);
      try {
        return await startSession(starter, stored);
      } catch (error) {
        // Any other failure may pass; only a conversation that is not there is given up.
        if (!(error instanceof ConversationGone)) throw error;
        const fields = { runtime: launch.runtime, session: stored, reason: error.message };
        ports.log.warning("conversation lost", fields);
        return await startSession(starter, undefined);
      }
    },
  };
}

interface Starter {
  readonly protocol: LineProtocol;
  readonly launch: RuntimeLaunch;
  readonly ports: DriverPorts;
  readonly options: DriverOptions;
}

/** Writes the MCP entries down for a program that takes them from a file. */
async function giveMcps({ protocol, launch, ports, options }: Starter): Promise<{
  readonly args: readonly string[];
  readonly entries: readonly McpEntry[];
}> {
  const { mcps } = options;
  if (mcps === undefined) return { args: [], entries: [] };
  const entries = await mcps.read();
  // Such a program reads the client config by itself.
  if (protocol.mcpArgs === undefined) return { args: [], entries };
  const args = protocol.mcpArgs({ args: launch.args, file: mcps.file }, entries);
  if (args.length > 0) await writeOwn(ports.files, mcps.file, printMcpServers(entries));
  // A program with arguments of its host's own has its MCPs from elsewhere.
  return { args, entries: args.length > 0 ? entries : [] };
}

async function startSession(of: Starter, sessionId: string | undefined): Promise<RuntimeSession> {
  const { protocol, ports, options } = of;
  const resumed = sessionId === undefined ? [] : protocol.resumeArgs(sessionId);
  const given = await giveMcps(of);
  const launch = { ...of.launch, args: [...of.launch.args, ...given.args, ...resumed] };
  const child = await spawnRuntime(launch, ports.processes);
  const supervised = superviseChild(child, ports, launch.runtime);
  const link = openLink(child, supervised, ports.clock);
  const dialect = protocol.createDialect({
    sessionId,
    decidePermission: options.decidePermission,
    cwd: launch.cwd,
    mode: launch.sessionMode,
    entries: given.entries,
    mcps: given.entries.map(({ name }) => name),
    proxied: proxiedOf(given.entries),
    onMcps: (loads) => options.onMcps?.(loads),
    clock: ports.clock,
    send: link.send,
    onSession: sessionKeeper(of, sessionId),
  });
  const session = lineSession({ dialect, link, supervised, ports, options });
  const startMs = options.startMs ?? START_MS;
  const silence = new AbortController();
  try {
    await Promise.race([
      dialect.open(silence.signal),
      link.ended.then((why) => Promise.reject(new Error(why))),
      ports.clock.sleep(startMs, silence.signal).then(() =>
        Promise.reject(new Error(`it did not answer within ${startMs / 1000} s`))
      ),
    ]);
    return session;
  } catch (error) {
    child.kill("SIGKILL");
    await supervised.exited;
    if (error instanceof ConversationGone) throw error;
    const why = errorText(error);
    throw new Error(
      `Cannot start runtime "${launch.runtime}": ${why}` +
        (why.includes("last line") ? "" : supervised.lastWords()),
    );
  } finally {
    silence.abort();
  }
}

/** Writes the id of the conversation down when it is another one, in the order of hearing. */
function sessionKeeper(of: Starter, known: string | undefined): (sessionId: string) => void {
  const { launch: { runtime }, ports, options } = of;
  let last = known;
  let written: Promise<void> = Promise.resolve();
  return (sessionId) => {
    if (sessionId === last) return;
    last = sessionId;
    written = written.then(async () => {
      try {
        await rememberSession(ports.files, options.sessionFile, { runtime, sessionId });
      } catch (error) {
        ports.log.error("conversation id not kept", { runtime, reason: errorText(error) });
      }
    });
  };
}

/** The pipes of a runtime. */
interface Link {
  readonly send: (message: Message) => Promise<void>;
  /** Reads on until the output ends; each message is handled before the next is read. */
  readonly follow: (handle: (message: Message) => Promise<void>) => void;
  /** Resolves with a sentence when nothing more can come. */
  readonly ended: Promise<string>;
  readonly endInput: () => Promise<void>;
}

/** Output that was written before the end may still be in the pipe; after this it is given up. */
const OUTPUT_AFTER_EXIT_MS = 2_000;

function openLink(child: Child, supervised: SupervisedChild, clock: Clock): Link {
  const input = child.stdin.getWriter();
  const encoder = new TextEncoder();
  const ended = Promise.withResolvers<string>();
  let isBusy = false;
  let fault: string | undefined;

  async function readAll(handle: (message: Message) => Promise<void>): Promise<void> {
    for await (
      const line of readLines(child.stdout, { lineBytesMax: MCP_LIMITS.messageBytesMax })
    ) {
      const message = parseJsonLine(line);
      // Programs print banners on stdout; a line that is no message is no reason to end.
      if (message === undefined) continue;
      isBusy = true;
      await handle(message);
      isBusy = false;
    }
  }

  /** Waits for what is still in the pipe, but not for a grandchild that holds it open. */
  async function settle(reading: Promise<void>): Promise<void> {
    const exit = await supervised.exited;
    void input.abort().catch(() => {
      // It is closed already; this only frees the descriptor.
    });
    const drained = new AbortController();
    void reading.finally(() => drained.abort());
    do await clock.sleep(OUTPUT_AFTER_EXIT_MS, drained.signal); while (
      isBusy && !drained.signal.aborted
    );
    ended.resolve((fault === undefined ? "" : `${fault}; `) + supervised.sentence(exit));
  }

  return {
    send: (message) =>
      input.write(encoder.encode(`${JSON.stringify(message)}\n`)).catch(() => {
        // It has ended or closed its input, which `ended` tells.
      }),
    follow(handle) {
      const reading = readAll(handle).catch((error) => {
        fault = errorText(error);
        isBusy = false;
      });
      // A process that lives on without its output is of no use.
      void reading.then(() => child.kill("SIGKILL"));
      void settle(reading);
    },
    ended: ended.promise,
    endInput: () =>
      input.close().catch(() => {
        // It has ended already, which is what closing its input is for.
      }),
  };
}

interface SessionParts {
  readonly dialect: Dialect;
  readonly link: Link;
  readonly supervised: SupervisedChild;
  readonly ports: DriverPorts;
  readonly options: DriverOptions;
}

function lineSession(parts: SessionParts): RuntimeSession {
  const { dialect, link, supervised, ports, options } = parts;
  let running: { turn: RunningTurn; said: (outcome: TurnOutcome) => void } | undefined;
  let hasExited = false;
  void supervised.exited.then(() => hasExited = true);
  link.follow(async (message) => {
    const { updates = [], outcome } = dialect.read(message);
    for (const update of updates) await running?.turn.take(update);
    if (outcome !== undefined) running?.said(outcome);
  });
  const kill = () => supervised.child.kill("SIGKILL");
  return {
    async prompt({ turnId, text }, onUpdate) {
      if (running !== undefined) return failed("turn-running", "Another turn is still running");
      const said = Promise.withResolvers<TurnOutcome>();
      const turn = beginTurn({
        turnId,
        clock: ports.clock,
        onUpdate,
        kill,
        cancelMs: options.cancelMs ?? CANCEL_MS,
        askToStop: () => dialect.cancel(),
      });
      running = { turn, said: said.resolve };
      const outcome = await turn.end(async () => {
        void dialect.prompt(text);
        return await Promise.race([said.promise, link.ended.then(interrupted)]);
      });
      running = undefined;
      return outcome;
    },
    async cancel() {
      await running?.turn.cancel();
    },
    ended: supervised.exited.then((exit) => supervised.sentence(exit)),
    async close(graceMs) {
      if (hasExited) return;
      // End of input is how such a runtime learns that its client is done.
      void link.endInput();
      const stopTimer = ports.clock.after(graceMs, kill);
      await supervised.exited;
      stopTimer();
    },
  };
}

function interrupted(why: string): TurnOutcome {
  return {
    outcome: "interrupted",
    code: "runtime-ended",
    reason: `The turn was interrupted: ${why}`,
  };
}
