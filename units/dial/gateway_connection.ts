/**
 * One gateway connection and its state: outbox, turns, session, runner. An agent has a connection
 * to the cockpit, to team chat, or to both. They share only the runtime, which runs one turn at a
 * time. Messages of one connection are never passed to another. A connection without a gateway runs
 * the turns of an agent that has no cockpit.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { namedConversation } from "core/dial/conversation.ts";
import type { Ceilings } from "units/dial/ceilings.ts";
import type { CutNotes } from "units/dial/cut_table.ts";
import type { InboundFrame } from "units/dial/client_session.ts";
import type { PreviewEvent } from "core/dial/event.ts";
import { CLOSE } from "core/dial/frames.ts";
import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Databases } from "core/ports/databases.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import type { Sockets } from "core/ports/sockets.ts";
import type { Result } from "core/result.ts";
import { type GatewayLink, type LinkOpening, startGatewayLink } from "units/dial/gateway_link.ts";
import type { LinkIdentity } from "units/dial/gateway_session.ts";
import { deliveryNote, ownerEventNote } from "units/dial/owner_notes.ts";
import { createRecorder, type Recorder } from "units/dial/recorder.ts";
import type { SupervisedRuntime } from "units/dial/runtime.ts";
import {
  type AcceptedTurn,
  type DialStore,
  type EventDraft,
  openDialStore,
} from "units/dial/store.ts";
import { createTurnFiles, type TurnFiles } from "units/dial/turn_files.ts";
import type { TurnFolder } from "units/dial/turn_folder.ts";
import { createTurnImages } from "units/dial/turn_images.ts";
import { startTurnRunner, type TurnRunner } from "units/dial/turn_runner.ts";
import type { Worktrees } from "units/dial/worktrees/worktrees.ts";

/** One gateway connection with its store. */
export interface GatewayConnection {
  readonly store: DialStore;
  readonly link: GatewayLink;
  readonly recorder: Recorder;
  /** Starts running turns; call it once the runtime exists. */
  start(handlers: TurnHandlers): void;
  /** Stores a turn that comes from this host, and runs it in order. */
  acceptTurn(turn: AcceptedTurn, askedEvent: EventDraft): Result<"new" | "known">;
  cancel(turnId: string): Promise<void>;
  /** Lets the running turn read a waiting one. */
  steer(turnId: string): void;
  /** Accepts no further turn; resolves when the running one has ended. */
  idle(): Promise<void>;
  /** Sends the waiting events, sends `bye` and closes. */
  close(graceMs: number): Promise<void>;
}

/** What is needed to run turns. */
export interface TurnHandlers {
  readonly runtime: SupervisedRuntime;
  /** Prepares the folder of a conversation before its turn. */
  readonly worktrees?: Pick<Worktrees, "prepare"> | undefined;
  /** The agent's spend ceilings, if it has any. */
  readonly ceilings?: Ceilings | undefined;
  /** Notes about turns that were cut off, of all gateways. */
  readonly cuts: CutNotes;
  /** Ends the open approvals of a turn that does not continue. */
  readonly withdrawApprovals: (turnId: string) => void;
  /** Called once a turn has ended. */
  readonly onEnded: (turnId: string) => void;
  /** Called when a turn continues in a new process of the runtime. */
  readonly onResumed: (turnId: string) => void;
  /** Called when a person has decided about an approval. */
  readonly onDecision: (frame: DecisionFrame) => void;
  /** Called when a person has answered a question. */
  readonly onPersonAnswer: (frame: PersonAnswerFrame) => void;
}

/** Dependencies of a gateway connection. */
export interface GatewayConnectionDeps {
  /** Absent when there is no gateway. */
  readonly identity: LinkIdentity | undefined;
  /** Subprotocols and headers of the upgrade; when absent, the dial-in subprotocol is offered. */
  readonly opening?: () => Promise<LinkOpening>;
  /** Path of the database. */
  readonly path: string;
  readonly databases: Databases;
  readonly sockets: Pick<Sockets, "connectFrames">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Runs one job at a time, across all gateway connections of the agent. */
  readonly exclusive: (job: () => Promise<void>) => Promise<void>;
  readonly onBusy: (isBusy: boolean) => void;
  readonly onPreview: (event: PreviewEvent) => void;
  readonly onRegistered: () => void;
  /** Storage for the files of turns. */
  readonly turnFolder: TurnFolder;
  readonly onFileTaken?: (frame: Extract<InboundFrame, { type: "owner_file_taken" }>) => void;
  /** Handles an answer to a request of the agent's programs; false when no caller waits for it. */
  readonly onAnswer: (frame: AnswerFrame) => boolean;
}

/** Frames that answer a question. */
export type AnswerFrame = Extract<
  InboundFrame,
  { type: "message_result" | "agents_result" | "owner_message_result" }
>;

/** Frames that decide about an approval. */
export type DecisionFrame = Extract<InboundFrame, { type: "approval_decision" }>;

/** Frames that answer a question of a program to a person. */
export type PersonAnswerFrame = Extract<InboundFrame, { type: "question_answer" }>;

/** Opens the store and starts connecting; rejects when the database cannot be opened. */
export async function openGatewayConnection(
  deps: GatewayConnectionDeps,
): Promise<GatewayConnection> {
  const { databases, random, clock, log, signal } = deps;
  const store = await openDialStore(databases, deps.path, random.uuid());
  const recorder = createRecorder({ store, clock, log, onStored: () => link.wake(), signal });
  const turnFiles = createTurnFiles(deps.turnFolder);
  let runner: TurnRunner | undefined;
  let handlers: TurnHandlers | undefined;
  const { identity } = deps;
  const link: GatewayLink = identity === undefined
    ? withoutGateway(store)
    : startGatewayLink(identity, {
      store,
      sockets: deps.sockets,
      clock,
      random,
      log,
      ...defined({ opening: deps.opening }),
      onFrame: (frame) =>
        handleFrame(frame, { store, link, runner, handlers, log, turnFiles, deps }),
      onRegistered: deps.onRegistered,
      onAcknowledged: () => recorder.spaceFreed(),
    });
  return {
    store,
    link,
    recorder,
    start: (given) => {
      handlers = given;
      runner = startTurnRunner({
        store,
        recorder,
        runtime: given.runtime,
        clock,
        log,
        images: createTurnImages(deps.turnFolder),
        ceilings: given.ceilings,
        cuts: given.cuts,
        withdrawApprovals: given.withdrawApprovals,
        onEnded: given.onEnded,
        onResumed: given.onResumed,
        exclusive: deps.exclusive,
        worktrees: given.worktrees,
        onPreview: (event) => {
          link.preview(event);
          deps.onPreview(event);
        },
        onBusy: deps.onBusy,
      });
    },
    acceptTurn: (turn, askedEvent) => {
      const accepted = store.accept(turn, askedEvent);
      if (!accepted.ok) return accepted;
      link.wake();
      runner?.wake();
      return accepted;
    },
    steer: (turnId) => runner?.steer(turnId),
    cancel: async (turnId) => await runner?.cancel(turnId),
    idle: async () => await runner?.close(),
    close: async (graceMs) => {
      await link.close(graceMs);
      store.close();
    },
  };
}

/** A link without a gateway: acknowledges events at once, because no gateway waits for them. */
function withoutGateway(store: DialStore): GatewayLink {
  return {
    wake: () => store.acknowledge(store.last()),
    preview: () => {},
    send: () => {},
    isRegistered: () => false,
    reconnect: () => {},
    close: async () => {},
  };
}

/** The state that the frame handlers use. */
interface FrameContext {
  readonly store: DialStore;
  readonly link: GatewayLink;
  readonly runner: TurnRunner | undefined;
  readonly handlers: TurnHandlers | undefined;
  readonly log: Log;
  readonly turnFiles: TurnFiles;
  readonly deps: GatewayConnectionDeps;
}

/** Stores a note for the runtime's next turn; false when it could not be stored. */
function keepNote(id: string, text: string, { store, link, log }: FrameContext): boolean {
  const kept = store.notes.add(id, text);
  if (kept.ok) return true;
  log.error("note not stored", { code: kept.error.code });
  link.reconnect(CLOSE.tryAgainLater, "storage");
  return false;
}

/** Stores a piece of a file. If that fails, the gateway sends it again on the next connection. */
async function takeFile(
  frame: Extract<InboundFrame, { type: "file" }>,
  { link, turnFiles }: FrameContext,
): Promise<void> {
  const next = await turnFiles.take(frame);
  if (next === undefined) return link.reconnect(CLOSE.tryAgainLater, "storage");
  link.send({ type: "file_taken", turn_id: frame.turn_id, n: frame.n, next });
}

/** Handles a frame from the gateway. */
function handleFrame(frame: InboundFrame, context: FrameContext): void {
  const { store, link, runner, handlers, log, turnFiles, deps } = context;
  switch (frame.type) {
    case "turn": {
      const { turn_id: turnId, origin } = frame;
      const lines = turnFiles.linesOf(turnId, frame.files ?? []);
      const text = [frame.text, ...lines].filter((line) => line !== "").join("\n");
      const conversation = namedConversation(frame.conversation);
      const accepted = store.accept({
        turnId,
        text,
        origin,
        conversation,
        files: frame.files,
      });
      if (!accepted.ok) {
        log.error("turn not stored", { turn: turnId, code: accepted.error.code });
        return link.reconnect(CLOSE.tryAgainLater, "storage");
      }
      link.send({ type: "turn_accepted", turn_id: turnId });
      return runner?.wake();
    }
    case "file":
      return void takeFile(frame, context);
    case "owner_file_taken":
      return deps.onFileTaken?.(frame);
    case "steer":
      return runner?.steer(frame.turn_id);
    case "cancel":
      runner?.cancel(frame.turn_id)
        .catch((thrown) => log.error("turn not cancelled", { error: errorText(thrown) }));
      return;
    case "delivery": {
      const { turn_id: turn, outcome, reason } = frame;
      log.info("answer delivered", { turn, outcome, reason });
      const note = deliveryNote(frame);
      if (note !== undefined) keepNote(`delivery|${turn}`, note, context);
      return;
    }
    case "owner_event": {
      const note = ownerEventNote(frame);
      if (note !== undefined && !keepNote(frame.id, note, context)) return;
      return link.send({ type: "owner_event_taken", id: frame.id });
    }
    case "owner_message_result": {
      if (deps.onAnswer(frame)) return;
      // The caller has disconnected. The note keeps the runtime from assuming that the owner read
      // it.
      const note = deliveryNote(frame, "message that you sent by yourself");
      if (note !== undefined) keepNote(`sent|${frame.id}`, note, context);
      return;
    }
    case "approval_decision":
      return handlers?.onDecision(frame);
    case "question_answer":
      return handlers?.onPersonAnswer(frame);
    case "message_result":
    case "agents_result":
      deps.onAnswer(frame);
      return;
    case "ack":
    case "closing":
      return;
    case "job":
      // Jobs are for the unit of a host; a gateway must not send one to an agent.
      return log.warning("job refused", { job: frame.job });
  }
}
