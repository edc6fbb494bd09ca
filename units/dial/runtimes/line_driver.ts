/**
 * A runtime that speaks lines of JSON over stdio, in any protocol: starts the program, resumes or
 * begins the conversation, runs turns. A `Dialect` supplies the protocol. Why there is no adapter
 * or SDK: ADR 0032.
 *
 * Back-pressure: a line is read only after the updates of the previous one are handed over.
 * Requests of the runtime are answered in parallel, so a person's pending decision blocks nothing
 * else.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { AskMode } from "core/ledger/agent.ts";
import type { Clock } from "core/ports/clock.ts";
import type {
  Prompt,
  RuntimeDriver,
  RuntimeSession,
  TurnOutcome,
} from "units/dial/runtimes/driver.ts";
import type { PermissionDecider } from "units/dial/runtimes/acp_permission.ts";
import {
  CANCEL_MS,
  type DriverOptions,
  type DriverPorts,
  launchIn,
  NOT_NEEDED,
  NOT_RESUMABLE,
  rememberedSession,
  rememberSession,
  type RuntimeLaunch,
  spawnRuntime,
  writeOwn,
} from "units/dial/runtimes/launch.ts";
import { createLeftRunning, type LeftRunning } from "units/dial/runtimes/left_running.ts";
import { type Link, openLink } from "units/dial/runtimes/line_link.ts";
import { withLossNotice } from "units/dial/runtimes/lost_conversation.ts";
import type { Message } from "units/dial/runtimes/message.ts";
import type { QuestionAsker } from "units/dial/runtimes/question.ts";
import { openSessionFile } from "units/dial/runtimes/session_file.ts";
import type { McpLoad } from "core/runtimes/mcp_load.ts";
import { type McpEntry, printMcpServers, proxiedOf } from "core/runtimes/mcp_entries.ts";
import { superviseChild, type SupervisedChild } from "units/dial/runtimes/supervise.ts";
import { createVersionWatch, type VersionWatch } from "units/dial/runtimes/version_watch.ts";
import { beginTurn, failed, type RunningTurn } from "units/dial/runtimes/turn.ts";
import type { TurnUsage } from "units/dial/runtimes/usage.ts";

/** The content of one message of the runtime. */
export interface Reading {
  /** Updates of the running turn, in ACP format. */
  readonly updates?: readonly unknown[];
  /** The end of the running turn. */
  readonly outcome?: TurnOutcome;
}

/** What the driver gives to a dialect. */
export interface DialectDeps {
  /** Conversation to resume; undefined begins one. */
  readonly sessionId: string | undefined;
  readonly decidePermission: PermissionDecider | undefined;
  readonly askQuestion: QuestionAsker | undefined;
  /** The working folder of the program. */
  readonly cwd: string;
  /** Mode from the runtime definition. */
  readonly mode: string | undefined;
  /** Mode from the agent's record. */
  readonly ask: AskMode | undefined;
  /** The MCPs that the program receives. */
  readonly entries: readonly McpEntry[];
  /** Names of the entries. */
  readonly mcps: readonly string[];
  /** Names of the MCPs whose calls go through the MCP proxy. */
  readonly proxied: ReadonlySet<string>;
  /** Called with the load states of the MCPs whenever the runtime reports them. */
  readonly onMcps: (loads: readonly McpLoad[]) => void;
  readonly clock: Pick<Clock, "sleep">;
  /** Writes a message. Never rejects, because the runtime's end is reported elsewhere. */
  readonly send: (message: Message) => Promise<void>;
  /** Called with the program's version whenever the runtime reports it. */
  readonly onVersion: (version: string) => void;
  /** Called with the id of the conversation whenever the runtime reports it. */
  readonly onSession: (sessionId: string) => void;
}

/** Thrown by `Dialect.open` when the runtime does not know the conversation. */
export class ConversationGone extends Error {
  override readonly name = "ConversationGone";
}

/** One protocol, with the state of one process. */
export interface Dialect {
  /**
   * Performs the handshake. Resolves when turns may start; rejects with the reason why they may
   * not. `signal` aborts when the caller no longer waits.
   */
  open(signal: AbortSignal): Promise<void>;
  /** Sends the message of a turn. */
  prompt(message: Omit<Prompt, "turnId">): Promise<void>;
  /** Asks the runtime to stop the running turn. */
  cancel(): Promise<void>;
  /** Reads one message; returns an empty reading for an unknown one. */
  read(message: Message): Reading;
  /** Returns what the program does between turns, if it reports that; it ends with the program. */
  unfinished?(): string | undefined;
  /** Returns the tokens since the last call, at the end of each turn; undefined when unknown. */
  takeUsage(): TurnUsage | undefined;
}

/** A protocol: its extra arguments, and its dialect. */
export interface LineProtocol {
  /** Arguments that resume a conversation. */
  readonly resumeArgs: (sessionId: string) => readonly string[];
  /** Arguments that pass MCP entries in `file`; absent when the program finds them itself. */
  readonly mcpArgs?: (
    of: { readonly args: readonly string[]; readonly file: string },
    entries: readonly McpEntry[],
  ) => readonly string[];
  /** Arguments with which the program asks about more than by itself. */
  readonly askArgs?: (of: Pick<RuntimeLaunch, "args" | "ask">) => readonly string[];
  /** Whether arguments of the host's definition make the program forget its conversations. */
  readonly isForgetful?: (args: readonly string[]) => boolean;
  readonly createDialect: (deps: DialectDeps) => Dialect;
}

/** Creates the driver of one agent's runtime; starts nothing until `start` is called. */
export function lineDriver(
  protocol: LineProtocol,
  launch: RuntimeLaunch,
  ports: DriverPorts,
  options: DriverOptions,
): RuntimeDriver {
  const { runtime, known } = launch;
  // Kept across restarts: a version is shown only once.
  const versions = createVersionWatch({ runtime, known, log: ports.log });
  return {
    async start(signal, conversation, folder) {
      const sessionFile = await openSessionFile(ports, options.sessionFile, conversation);
      const stored = await rememberedSession(ports.files, sessionFile, launch.runtime);
      const at = launchIn(launch, folder);
      const starter = { protocol, launch: at, ports, options, versions, signal, sessionFile };
      if (stored === undefined) return await startSession(starter, undefined);
      try {
        return await startSession(starter, stored);
      } catch (error) {
        // Other failures may be temporary. Only a missing conversation is given up.
        if (!(error instanceof ConversationGone)) throw error;
        const fields = { runtime: launch.runtime, session: stored, reason: error.message };
        ports.log.warning("conversation lost", fields);
        return withLossNotice(await startSession(starter, undefined), error.message);
      }
    },
  };
}

interface Starter {
  readonly protocol: LineProtocol;
  readonly launch: RuntimeLaunch;
  readonly ports: DriverPorts;
  readonly options: DriverOptions;
  readonly versions: VersionWatch;
  readonly signal: AbortSignal | undefined;
  /** File that stores the id of the conversation. */
  readonly sessionFile: string;
}

/** Writes the MCP entries to the file from which the program reads them. */
async function prepareMcps({ protocol, launch, ports, options }: Starter): Promise<{
  readonly args: readonly string[];
  readonly entries: readonly McpEntry[];
}> {
  const { mcps } = options;
  if (mcps === undefined) return { args: [], entries: [] };
  const entries = await mcps.read();
  // This program reads the client config by itself.
  if (protocol.mcpArgs === undefined) return { args: [], entries };
  const args = protocol.mcpArgs({ args: launch.args, file: mcps.file }, entries);
  if (args.length > 0) await writeOwn(ports.files, mcps.file, printMcpServers(entries));
  // No arguments means that the host's definition supplies other MCPs.
  return { args, entries: args.length > 0 ? entries : [] };
}

async function startSession(of: Starter, sessionId: string | undefined): Promise<RuntimeSession> {
  const { protocol, ports, options, versions } = of;
  const resumed = sessionId === undefined ? [] : protocol.resumeArgs(sessionId);
  const prepared = await prepareMcps(of);
  const asking = protocol.askArgs?.(of.launch) ?? [];
  const args = [...of.launch.args, ...prepared.args, ...asking, ...resumed];
  const launch = { ...of.launch, args };
  const child = await spawnRuntime(launch, ports.processes);
  const supervised = superviseChild(child, ports, launch.runtime);
  const link = openLink(child, supervised, ports.clock);
  const keeper = createSessionKeeper(of, sessionId);
  const leftRunning = createLeftRunning(child, prepared.entries);
  const dialect = protocol.createDialect({
    sessionId,
    decidePermission: options.decidePermission,
    askQuestion: options.askQuestion,
    cwd: launch.cwd,
    mode: launch.sessionMode,
    ask: launch.ask,
    entries: prepared.entries,
    mcps: prepared.entries.map(({ name }) => name),
    proxied: proxiedOf(prepared.entries),
    onMcps: (loads) => options.onMcps?.(loads),
    clock: ports.clock,
    send: link.send,
    onVersion: (version) => versions.report(version),
    onSession: keeper.report,
  });
  const isKept = () => keeper.isStored() && protocol.isForgetful?.(launch.args) !== true;
  const session = lineSession({
    dialect,
    link,
    supervised,
    ports,
    options,
    versions,
    isKept,
    leftRunning,
  });
  const { startMs } = options;
  const silence = new AbortController();
  try {
    await Promise.race([
      dialect.open(silence.signal),
      link.ended.then((why) => Promise.reject(new Error(why))),
      ports.clock.sleep(startMs, silence.signal).then(() =>
        Promise.reject(new Error(`it did not answer within ${startMs / 1000} s`))
      ),
      aborted(of.signal, silence.signal).then(() => Promise.reject(new Error(NOT_NEEDED))),
    ]);
    leftRunning.ready();
    return session;
  } catch (error) {
    child.kill("SIGKILL");
    await supervised.exited;
    if (error instanceof ConversationGone) throw error;
    const why = errorText(error);
    throw new Error(
      `Cannot start runtime "${launch.runtime}": ${why}` +
        (why.includes("last line") ? "" : supervised.stderrTail()),
    );
  } finally {
    silence.abort();
  }
}

/** Resolves when `signal` aborts; forgets about it when `over` aborts. */
function aborted(signal: AbortSignal | undefined, over: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) =>
    signal?.addEventListener("abort", () => resolve(), { signal: over })
  );
}

/** Keeps the id of the conversation for the next start. */
interface SessionKeeper {
  /** Stores the id when it changes, in the order reported. */
  readonly report: (sessionId: string) => void;
  /** Whether the id that was reported last is on disk. */
  readonly isStored: () => boolean;
}

function createSessionKeeper(of: Starter, known: string | undefined): SessionKeeper {
  const { launch: { runtime }, ports, sessionFile } = of;
  let last = known;
  let stored = known;
  let written: Promise<void> = Promise.resolve();
  return {
    report: (sessionId) => {
      if (sessionId === last) return;
      last = sessionId;
      written = written.then(async () => {
        try {
          await rememberSession(ports.files, sessionFile, { runtime, sessionId });
          stored = sessionId;
        } catch (error) {
          ports.log.error("conversation id not kept", { runtime, reason: errorText(error) });
        }
      });
    },
    isStored: () => stored !== undefined && stored === last,
  };
}

interface SessionDeps {
  readonly dialect: Dialect;
  readonly link: Link;
  readonly supervised: SupervisedChild;
  readonly ports: DriverPorts;
  readonly options: DriverOptions;
  readonly versions: VersionWatch;
  /** Whether the next start resumes the conversation. */
  readonly isKept: () => boolean;
  readonly leftRunning: LeftRunning;
}

function lineSession(deps: SessionDeps): RuntimeSession {
  const { dialect, link, supervised, ports, options, versions } = deps;
  let running: { turn: RunningTurn; finish: (outcome: TurnOutcome) => void } | undefined;
  let hasExited = false;
  let hasRun = false;
  let lastOutputMs = ports.clock.monotonic();
  void supervised.exited.then(() => hasExited = true);
  link.follow(async (message) => {
    lastOutputMs = ports.clock.monotonic();
    const { updates = [], outcome } = dialect.read(message);
    const notices = running === undefined ? [] : versions.take();
    for (const update of [...notices, ...updates]) await running?.turn.take(update);
    if (outcome !== undefined) running?.finish(outcome);
  });
  const kill = () => supervised.child.kill("SIGKILL");
  return {
    async prompt({ turnId, ...message }, onUpdate) {
      if (running !== undefined) return failed("turn-running", "Another turn is still running");
      const reported = Promise.withResolvers<TurnOutcome>();
      const turn = beginTurn({
        turnId,
        clock: ports.clock,
        onUpdate,
        kill,
        cancelMs: options.cancelMs ?? CANCEL_MS,
        requestStop: () => dialect.cancel(),
      });
      running = { turn, finish: reported.resolve };
      hasRun = true;
      const outcome = await turn.end(async () => {
        void dialect.prompt(message);
        const outcome = await Promise.race([reported.promise, link.ended.then(interrupted)]);
        turn.used(dialect.takeUsage());
        return outcome;
      });
      running = undefined;
      return outcome;
    },
    async cancel() {
      await running?.turn.cancel();
    },
    lastOutputMs: () => lastOutputMs,
    unfinished: () =>
      hasRun && !deps.isKept() ? NOT_RESUMABLE : dialect.unfinished?.() ?? deps.leftRunning.find(),
    ended: supervised.exited.then((exit) => supervised.sentence(exit)),
    async close(graceMs) {
      if (hasExited) return;
      // Such a runtime ends when its input ends.
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
