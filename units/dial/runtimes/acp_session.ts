/**
 * One conversation with a started ACP runtime: turns, cancel, and the end. Every failure of a turn
 * is an outcome, including the death of the runtime. Never starts or restarts a process.
 *
 * @module
 */

import {
  type ClientConnection,
  type ContentBlock,
  methods,
  RequestError,
} from "@agentclientprotocol/sdk";
import { STEER_METHOD } from "core/dial/steer.ts";
import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { ProcessExit } from "core/ports/processes.ts";
import type { Random } from "core/ports/random.ts";
import type {
  Prompt,
  RuntimeSession,
  RuntimeUpdate,
  SteerMessage,
  TurnOutcome,
} from "units/dial/runtimes/driver.ts";
import { NOT_RESUMABLE } from "units/dial/runtimes/launch.ts";
import type { LeftRunning } from "units/dial/runtimes/left_running.ts";
import { notice } from "units/dial/runtimes/message.ts";
import { readPromptUsage, type UsageSource } from "units/dial/runtimes/acp_usage.ts";
import type { SupervisedChild } from "units/dial/runtimes/supervise.ts";
import { beginTurn, failed, type RunningTurn } from "units/dial/runtimes/turn.ts";
import type { VersionWatch } from "units/dial/runtimes/version_watch.ts";
import { failureCode } from "units/dial/runtimes/unauthorized.ts";
import type { PendingDenials } from "units/dial/runtimes/pending_denials.ts";

/** Message with which a connection is closed after the process has ended. */
export const RUNTIME_GONE = "the runtime has ended";

/** The running turn, if any. Session updates belong to it. */
export interface TurnSlot {
  turn: { readonly running: RunningTurn; onUpdate(params: unknown): Promise<void> } | undefined;
  /** Whether an update is being stored. */
  busy: boolean;
  /** When the program last wrote something, by the monotonic clock. */
  lastOutputMs: number;
}

/** Dependencies of a session. */
export interface AcpSessionDeps {
  readonly connection: ClientConnection;
  readonly sessionId: string;
  readonly isResumable: boolean;
  readonly leftRunning: LeftRunning;
  readonly usage: UsageSource;
  /** Whether the program offers `session/close`. */
  readonly isClosable: boolean;
  /** Whether the program accepts images in a message. */
  readonly hasVision: boolean;
  /** Whether the program reads PDFs that a message links to. */
  readonly readsPdfs: boolean;
  /** Whether the program continues turns that an earlier process left open. */
  readonly goesOn: boolean;
  /** Whether a running turn accepts messages. */
  readonly canSteer: boolean;
  readonly slot: TurnSlot;
  readonly supervised: SupervisedChild;
  readonly ports: { readonly clock: Clock; readonly random: Random; readonly log: Log };
  readonly cancelMs: number;
  /** Names of the MCPs that the program received. */
  readonly servers: readonly string[];
  readonly denials: PendingDenials;
  readonly versions: Pick<VersionWatch, "take">;
  /** Closes the runtime's stdin; never rejects. */
  readonly endInput: () => Promise<void>;
}

/** Creates the session over an initialized connection. */
export function acpSession(deps: AcpSessionDeps): RuntimeSession {
  const { connection, sessionId, slot, supervised, ports } = deps;
  let running: RunningTurn | undefined;
  let hasRun = false;
  let exit: ProcessExit | undefined;
  void supervised.exited.then((ended) => exit = ended);

  async function prompt(
    turn: Prompt,
    onUpdate: (update: RuntimeUpdate) => Promise<void>,
  ): Promise<TurnOutcome> {
    if (running !== undefined) return failed("turn-running", "Another turn is still running");
    const begun = beginTurn({
      turnId: turn.turnId,
      clock: ports.clock,
      servers: deps.servers,
      onUpdate,
      cancelMs: deps.cancelMs,
      requestStop: () =>
        connection.agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {
          // The connection is closed: the prompt has ended or is about to end, with its own reason.
        }),
      kill: () => supervised.child.kill("SIGKILL"),
      goesOn: deps.goesOn,
    });
    running = begun;
    hasRun = true;
    slot.turn = {
      running: begun,
      onUpdate: (params) => handleUpdate(params, sessionId, begun),
    };
    const outcome = await begun.end(async () => {
      for (const update of deps.versions.take()) await begun.take(update);
      const result = await runPrompt(deps, turn, begun);
      slot.turn = undefined;
      return result;
    });
    running = undefined;
    return outcome;
  }

  return {
    goesOn: deps.goesOn,
    prompt,
    ...(deps.canSteer ? { steer: (message) => steer(deps, message) } : {}),
    async cancel() {
      await running?.cancel();
    },
    lastOutputMs: () => slot.lastOutputMs,
    unfinished: () => hasRun && !deps.isResumable ? NOT_RESUMABLE : deps.leftRunning.find(),
    ended: supervised.exited.then((ended) => supervised.sentence(ended)),
    async close(graceMs) {
      if (exit !== undefined) return;
      const stopTimer = ports.clock.after(graceMs, () => supervised.child.kill("SIGKILL"));
      // Closing the conversation would end a running turn as cancelled, not as interrupted.
      if (running === undefined) await closeConversation(deps, graceMs / 2);
      // An ACP agent ends when its input ends.
      void deps.endInput();
      await supervised.exited;
      stopTimer();
      connection.close(new Error(RUNTIME_GONE));
    },
  };
}

async function steer(
  { connection, sessionId, ports }: AcpSessionDeps,
  message: SteerMessage,
): Promise<void> {
  await connection.agent.request(STEER_METHOD, { sessionId, ...message }).catch((error) => {
    // The program has ended; the message waits for the next process of the turn.
    ports.log.info("message not passed to the turn", { reason: errorText(error) });
  });
}

/** Lets the program store the conversation and end its servers, for at most `limitMs`. */
async function closeConversation(deps: AcpSessionDeps, limitMs: number): Promise<void> {
  const { connection, sessionId, supervised, ports } = deps;
  if (!deps.isClosable) return;
  const answered = new AbortController();
  await Promise.race([
    connection.agent.request(methods.agent.session.close, { sessionId }).catch((error) => {
      // The program is ended in any case.
      ports.log.info("conversation not closed", { session: sessionId, reason: errorText(error) });
    }),
    supervised.exited,
    ports.clock.sleep(limitMs, answered.signal),
  ]);
  answered.abort();
}

async function runPrompt(
  deps: AcpSessionDeps,
  turn: Prompt,
  begun: RunningTurn,
): Promise<TurnOutcome> {
  const { connection, sessionId, supervised } = deps;
  const text = [...deps.denials.take(), turn.text].join("\n\n");
  try {
    const answer = await connection.agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [
        ...pdfLinks(deps, turn),
        ...await imageBlocks(deps, turn, begun),
        { type: "text", text },
      ],
      _meta: { fleetctl: { turn_id: turn.turnId } },
    });
    deps.denials.delivered();
    begun.used(readPromptUsage(answer, deps.usage));
    return outcomeOfStop(answer.stopReason);
  } catch (error) {
    if (error instanceof RequestError && !connection.signal.aborted) {
      begun.used(readPromptUsage(error.data, deps.usage));
      return outcomeOfError(error);
    }
    // No more messages can arrive. A process without its output is of no use, so it is killed.
    supervised.child.kill("SIGKILL");
    const ended = await supervised.exited;
    const why = ended.signal === "SIGKILL" && !isEnd(error) ? `${errorText(error)}; ` : "";
    return {
      outcome: "interrupted",
      code: "runtime-ended",
      reason: `The turn was interrupted: ${why}${supervised.sentence(ended)}`,
    };
  }
}

/** Returns the images of a message; notes that a program without vision gets only their paths. */
async function imageBlocks(
  { hasVision }: AcpSessionDeps,
  { images = [] }: Prompt,
  begun: RunningTurn,
): Promise<ContentBlock[]> {
  if (images.length === 0) return [];
  if (!hasVision) {
    await begun.take(notice("The program accepts no images; the model gets their paths only"));
    return [];
  }
  return images.map(({ type, base64, path }) => ({
    type: "image",
    mimeType: type,
    data: base64,
    uri: fileUri(path),
  }));
}

/** Returns links to the PDFs of a message; other programs get their paths in the text only. */
function pdfLinks({ readsPdfs }: AcpSessionDeps, { pdfs = [] }: Prompt): ContentBlock[] {
  if (!readsPdfs) return [];
  return pdfs.map(({ name, path }) => ({
    type: "resource_link",
    name,
    uri: fileUri(path),
    mimeType: "application/pdf",
  }));
}

function fileUri(path: string): string {
  return `file://${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** Whether the connection's error only states that it ended, and adds nothing to the reason. */
function isEnd(error: unknown): boolean {
  const text = errorText(error);
  return text === "ACP connection closed" || text === RUNTIME_GONE;
}

async function handleUpdate(
  params: unknown,
  sessionId: string,
  turn: RunningTurn,
): Promise<void> {
  if (typeof params !== "object" || params === null) return;
  const { sessionId: of, update } = params as { sessionId?: unknown; update?: unknown };
  if (of === sessionId) await turn.take(update);
}

function outcomeOfStop(stopReason: string): TurnOutcome {
  switch (stopReason) {
    case "end_turn":
      return { outcome: "completed" };
    case "cancelled":
      return { outcome: "cancelled" };
    case "max_tokens":
      return failed(
        "model-output-limit",
        "The model reached its output limit before the answer was complete",
      );
    case "max_turn_requests":
      return failed(
        "steps-exhausted",
        'The turn reached its limit of model calls; send "continue" to go on',
      );
    case "refusal":
      return failed("model-refusal", "The model refused to continue");
    default:
      return failed("stop-unknown", `The runtime stopped with an unknown reason "${stopReason}"`);
  }
}

/**
 * Converts an error of the runtime. The built-in runtime puts code and reason into `data`; others
 * send only a message.
 */
function outcomeOfError(error: RequestError): TurnOutcome {
  const data = typeof error.data === "object" && error.data !== null
    ? error.data as { code?: unknown; reason?: unknown; details?: unknown }
    : {};
  const reason = typeof data.reason === "string"
    ? data.reason
    : typeof data.details === "string"
    ? `${error.message}: ${data.details}`
    : error.message;
  return failed(typeof data.code === "string" ? data.code : failureCode(reason), reason);
}
