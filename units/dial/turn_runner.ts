/**
 * Runs accepted turns one after the other, and records what the runtime reports. A turn ends once:
 * with the runtime's own outcome, or with the stated reason why there is none.
 *
 * | Found at start | Becomes |
 * |---|---|
 * | running | ended, `interrupted` with code `dial-restarted` |
 * | accepted | run |
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { PreviewEvent } from "core/dial/event.ts";
import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Result } from "core/result.ts";
import type { RuntimeSession, RuntimeUpdate, TurnOutcome } from "units/dial/runtimes/driver.ts";
import type { Recorder } from "units/dial/recorder.ts";
import type { SupervisedRuntime } from "units/dial/runtime.ts";
import type { AcceptedTurn, DialStore } from "units/dial/store.ts";
import { draftOf } from "units/dial/update_draft.ts";
import { lostImage, type TurnImages } from "units/dial/turn_images.ts";

/** Runs turns. */
export interface TurnRunner {
  /** Signals that a turn was accepted. */
  wake(): void;
  cancel(turnId: string): Promise<void>;
  /** Starts no further turn; resolves when the running one has ended. */
  close(): Promise<void>;
}

/** Dependencies of the runner. */
export interface RunnerDeps {
  readonly store: DialStore;
  readonly recorder: Recorder;
  readonly runtime: SupervisedRuntime;
  readonly clock: Clock;
  readonly log: Log;
  readonly images: TurnImages;
  /** Runs one job at a time, across all runners of the same runtime. */
  readonly exclusive: (job: () => Promise<void>) => Promise<void>;
  readonly onPreview: (event: PreviewEvent) => void;
  readonly onBusy: (isBusy: boolean) => void;
  /** Called when the end of a turn is on disk. */
  readonly onEnded?: (turnId: string) => void;
}

const RESTARTED: TurnOutcome = {
  outcome: "interrupted",
  code: "dial-restarted",
  reason: "The agent's dial unit was restarted while the turn ran",
};
const STOPPED: TurnOutcome = {
  outcome: "interrupted",
  code: "dial-stopped",
  reason: "The agent was stopped while the turn ran",
};
const CANCELLED: TurnOutcome = {
  outcome: "cancelled",
  code: "cancelled-before-start",
  reason: "Cancelled before the runtime received it",
};

/** Maximum length of a reason, which may contain a program's last output, in characters. */
const REASON_LENGTH_MAX = 4_000;

/** Starts the runner; first ends the turns that an earlier process left running. */
export function startTurnRunner(deps: RunnerDeps): TurnRunner {
  const runner = new SerialRunner(deps);
  runner.start();
  return runner;
}

/** The turn that uses the runtime, or waits for it. */
interface Running {
  readonly turnId: string;
  /** Whether its start is recorded, or about to be. */
  isStarted?: true;
  /** Set once the runtime receives the turn. */
  session?: RuntimeSession;
}

class SerialRunner implements TurnRunner {
  readonly #deps: RunnerDeps;
  readonly #cancelled = new Set<string>();
  /** Turns whose end is being recorded, so that each ends only once. */
  readonly #ending = new Map<string, Promise<void>>();
  #running: Running | undefined;
  #isClosed = false;
  #wakeUp = () => {};
  #done: Promise<void> = Promise.resolve();

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#done = this.#work();
  }

  wake(): void {
    this.#wakeUp();
  }

  async cancel(turnId: string): Promise<void> {
    const state = this.#deps.store.stateOf(turnId);
    if (state === undefined || state === "ended") return;
    const running = this.#running?.turnId === turnId ? this.#running : undefined;
    // A program may need half a minute to start. The cancel does not wait for it.
    if (running?.isStarted !== true) return await this.#end(turnId, CANCELLED);
    this.#cancelled.add(turnId);
    await running.session?.cancel();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wakeUp();
    await this.#done;
  }

  async #work(): Promise<void> {
    const { store } = this.#deps;
    for (const turnId of store.runningTurns()) await this.#end(turnId, RESTARTED);
    while (!this.#isClosed) {
      const turn = store.nextTurn();
      if (turn === undefined) {
        await new Promise<void>((resolve) => {
          this.#wakeUp = resolve;
        });
      } else {
        await this.#deps.exclusive(() => this.#run(turn));
        this.#running = undefined;
      }
    }
  }

  async #run(turn: AcceptedTurn): Promise<void> {
    const { runtime } = this.#deps;
    const { turnId } = turn;
    // Cancelled while another gateway's turn used the runtime.
    if (this.#isOver(turnId) || this.#isClosed) return await this.#ending.get(turnId);
    const running: Running = { turnId };
    this.#running = running;
    await runtime.use(turn.conversation, (session) => this.#runIn(session, turn, running));
  }

  /** Runs a turn in the session that the runtime supplied for it. */
  async #runIn(
    session: Result<RuntimeSession, string>,
    turn: AcceptedTurn,
    running: Running,
  ): Promise<void> {
    const { recorder, clock, onBusy } = this.#deps;
    const { turnId } = turn;
    if (this.#isOver(turnId) || this.#isClosed) return await this.#ending.get(turnId);
    running.isStarted = true;
    await recorder.record([{ at: clock.now(), turnId, kind: "turn_started", payload: {} }], {
      move: { turnId, to: "running" },
      isControl: true,
    });
    if (this.#cancelled.has(turnId)) return await this.#end(turnId, CANCELLED);
    if (!session.ok) {
      const code = "runtime-not-started";
      return await this.#end(turnId, { outcome: "failed", code, reason: session.error });
    }
    running.session = session.value;
    onBusy(true);
    const outcome = await this.#prompt(session.value, turn);
    this.#running = undefined;
    const isOurs = this.#isClosed && outcome.outcome !== "completed" &&
      !this.#cancelled.has(turnId);
    await this.#end(turnId, isOurs ? STOPPED : outcome);
    onBusy(false);
  }

  /** Whether a turn has ended, or its end is being recorded. */
  #isOver(turnId: string): boolean {
    return this.#ending.has(turnId) || this.#deps.store.stateOf(turnId) !== "accepted";
  }

  async #prompt(session: RuntimeSession, turn: AcceptedTurn): Promise<TurnOutcome> {
    const { turnId } = turn;
    const { store, images: turnImages } = this.#deps;
    const { images, notes } = await turnImages.forPrompt(turnId, turn.files ?? []);
    for (const note of notes) await this.#note(turnId, note);
    const unseen = notes.map((note) => `[${note}]`);
    const text = [...store.notes.take(), [turn.text, ...unseen].join("\n")].join("\n\n");
    const offsets = new Map<string, number>();
    const finished = session.prompt(
      { turnId, text, ...(images.length === 0 ? {} : { images }) },
      (update) => this.#take(turnId, update, offsets),
    );
    return await finished.catch((thrown): TurnOutcome => ({
      outcome: "failed",
      code: "runtime-fault",
      reason: errorText(thrown),
    }));
  }

  /** Passes on a preview or records an event. The runtime is not read from until this is done. */
  async #take(
    turnId: string,
    update: RuntimeUpdate,
    offsets: Map<string, number>,
  ): Promise<void> {
    const { recorder, clock, onPreview } = this.#deps;
    if (update.kind === "text_delta") {
      const { messageId, text } = update;
      const offset = offsets.get(messageId) ?? 0;
      offsets.set(messageId, offset + text.length);
      const payload = { message_id: messageId, text, offset };
      return onPreview({ turn_id: turnId, kind: "text_delta", payload });
    }
    if (update.kind === "message") offsets.delete(update.messageId);
    if (update.kind === "image") return await this.#keepImage(turnId, update);
    await recorder.record([{ at: clock.now(), turnId, ...draftOf(update) }]);
  }

  async #note(turnId: string, text: string): Promise<void> {
    const { recorder, clock } = this.#deps;
    await recorder.record([{ at: clock.now(), turnId, kind: "notice", payload: { text } }]);
  }

  /** Stores an image, then records it. */
  async #keepImage(
    turnId: string,
    { callId, image }: Extract<RuntimeUpdate, { kind: "image" }>,
  ): Promise<void> {
    const { recorder, clock, images } = this.#deps;
    const kept = await images.keep(turnId, image);
    if (typeof kept === "string") return await this.#note(turnId, lostImage(image, kept));
    const payload = { ...kept, ...defined({ call_id: callId }) };
    await recorder.record([{ at: clock.now(), turnId, kind: "attachment", payload }]);
  }

  /** Records the end of a turn; waits for an end that is being recorded. */
  #end(turnId: string, outcome: TurnOutcome): Promise<void> {
    const pending = this.#ending.get(turnId);
    if (pending !== undefined) return pending;
    const ending = this.#recordEnd(turnId, outcome).finally(() => this.#ending.delete(turnId));
    this.#ending.set(turnId, ending);
    return ending;
  }

  async #recordEnd(turnId: string, { outcome, code, reason }: TurnOutcome): Promise<void> {
    const { recorder, clock, log } = this.#deps;
    const payload = {
      outcome,
      ...defined({ code, reason: reason?.slice(0, REASON_LENGTH_MAX) }),
    };
    await recorder.record([{ at: clock.now(), turnId, kind: "turn_ended", payload }], {
      move: { turnId, to: "ended" },
      isControl: true,
    });
    this.#cancelled.delete(turnId);
    this.#deps.onEnded?.(turnId);
    log.info("turn ended", { turn: turnId, outcome, code });
  }
}
