/**
 * Runs accepted turns one after the other, and records what the runtime reports. A turn ends once:
 * with the runtime's own outcome, or with the stated reason why there is none. A turn whose runtime
 * can continue it (ADR 0036) survives the end of the runtime and of this process.
 *
 * | Found at start | Becomes |
 * |---|---|
 * | running, the runtime continues turns | run again, with the same id |
 * | running | ended, `interrupted` with code `dial-restarted` |
 * | accepted | run |
 *
 * @module
 */

import { errorText, type Refusal } from "core/errors.ts";
import type { Result } from "core/result.ts";
import { spendStop } from "units/dial/turn_spend.ts";
import type { RunnerDeps } from "units/dial/runner_deps.ts";
import type { RuntimeSession, TurnOutcome } from "units/dial/runtimes/driver.ts";
import { unreported } from "units/dial/progress_table.ts";
import type { AcceptedTurn } from "units/dial/store.ts";
import { REASON_LENGTH_MAX, recordTurnEnd } from "units/dial/turn_end.ts";
import {
  CANCELLED,
  CANCELLED_BETWEEN,
  refusedTurn,
  RESTARTED,
  STOPPED,
} from "units/dial/turn_outcomes.ts";
import { createTurnEvents, type TurnEvents } from "units/dial/turn_events.ts";
import { Steering } from "units/dial/steering.ts";

/** Runs turns. */
export interface TurnRunner {
  /** Signals that a turn was accepted. */
  wake(): void;
  cancel(turnId: string): Promise<void>;
  /** Lets the running turn read a waiting one, if its program accepts messages. */
  steer(turnId: string): void;
  /** Starts no further turn; resolves when the running one has ended. */
  close(): Promise<void>;
}

/** Restarts of a turn without a message or a call in between. */
const RESTARTS_MAX = 5;
/** Pause before a runtime that does not start is tried again; it grows with each restart. */
const NOT_STARTED_MS = 2_000;

/** Starts the runner, first with the turns that an earlier process left running. */
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
  /** Why the turn continues; undefined in its first process. */
  restart?: string;
  /** Cut turns that its text reports. */
  reports?: readonly string[];
  /** Ends the preparation of its folder, and the wait at a ceiling. */
  readonly stop: AbortController;
}

class SerialRunner implements TurnRunner {
  readonly #deps: RunnerDeps;
  readonly #events: TurnEvents;
  readonly #steering: Steering;
  readonly #cancelled = new Set<string>();
  /** Turns whose end is being recorded, so that each ends only once. */
  readonly #ending = new Map<string, Promise<void>>();
  #running: Running | undefined;
  readonly #closing = new AbortController();
  #wakeUp = () => {};
  #done: Promise<void> = Promise.resolve();

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
    this.#events = createTurnEvents(deps);
    this.#steering = new Steering(deps.store, deps.log);
  }

  start(): void {
    this.#done = this.#work();
  }

  wake(): void {
    this.#wakeUp();
  }

  steer(turnId: string): void {
    this.#steering.want(turnId);
  }

  async cancel(turnId: string): Promise<void> {
    const state = this.#deps.store.stateOf(turnId);
    if (state === undefined || state === "ended") return;
    const running = this.#running?.turnId === turnId ? this.#running : undefined;
    running?.stop.abort();
    // A program may need half a minute to start. The cancel does not wait for it.
    if (running?.isStarted !== true) return await this.#end(turnId, CANCELLED);
    this.#cancelled.add(turnId);
    await running.session?.cancel();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#wakeUp();
    await this.#done;
  }

  async #work(): Promise<void> {
    const { store } = this.#deps;
    for (const turnId of store.runningTurns()) await this.#takeUp(turnId);
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

  /** Continues a turn that an earlier process left running, or ends it. */
  async #takeUp(turnId: string): Promise<void> {
    const { store, exclusive } = this.#deps;
    const turn = store.find(turnId);
    if (turn === undefined || !store.progress.of(turnId).goesOn) {
      return await this.#end(turnId, RESTARTED);
    }
    const restart = "the agent's dial unit was restarted";
    await exclusive(() => this.#run(turn, { isStarted: true, restart }));
    this.#running = undefined;
  }

  async #run(
    turn: AcceptedTurn,
    begun: Pick<Running, "isStarted" | "restart"> = {},
  ): Promise<void> {
    const { runtime } = this.#deps;
    const { turnId } = turn;
    const running: Running = { turnId, stop: new AbortController(), ...begun };
    // Cancelled while another gateway's turn used the runtime.
    if (this.#isOver(turnId) || this.#isClosed) return await this.#ending.get(turnId);
    this.#running = running;
    let goesOn = await this.#prepare(turn, running);
    while (goesOn) {
      goesOn = await runtime.use(
        turn.conversation,
        (session) => this.#runIn(session, turn, running),
      );
    }
  }

  /** Prepares the folder of the turn. Ends the turn and returns false when that fails. */
  async #prepare(turn: AcceptedTurn, running: Running): Promise<boolean> {
    const { turnId, conversation, text } = turn;
    const begin = async () => {
      if (running.isStarted !== true) await this.#recordStart(running, { text, goesOn: false });
    };
    const signal = AbortSignal.any([running.stop.signal, this.#closing.signal]);
    // The default conversation always works in the workspace.
    const worktrees = conversation === undefined ? undefined : this.#deps.worktrees;
    const prepared = await worktrees?.prepare(conversation, {
      signal,
      onUpdate: async (update) => {
        await begin();
        await this.#events.take(turnId, update, new Map());
      },
    });
    const fault = prepared?.ok === false ? prepared.error : undefined;
    if (fault === undefined && !signal.aborted) return true;
    if (fault !== undefined && !signal.aborted) await begin();
    if (this.#isOver(turnId) || running.isStarted !== true) await this.#ending.get(turnId);
    else await this.#end(turnId, this.#refused(turnId, fault));
    return false;
  }

  #refused(turnId: string, fault: Refusal | undefined): TurnOutcome {
    if (this.#cancelled.has(turnId)) return CANCELLED;
    return fault === undefined || this.#isClosed ? STOPPED : refusedTurn(fault);
  }

  /** Records that the turn starts; its preparation may have done so already. */
  async #recordStart(
    running: Running,
    { steers, ...of }: {
      readonly text: string;
      readonly goesOn: boolean;
      readonly steers?: boolean;
    },
  ): Promise<void> {
    const { recorder, clock } = this.#deps;
    const { turnId } = running;
    const start = {
      at: clock.now(),
      turnId,
      kind: "turn_started",
      payload: steers === true ? { steers } : {},
    };
    const drafts = running.isStarted === true ? [] : [start];
    running.isStarted = true;
    await recorder.record(drafts, { move: { turnId, to: "running", ...of }, isControl: true });
  }

  /**
   * Runs a turn in the session that the runtime supplied for it. Returns whether the turn continues
   * in the next session.
   */
  async #runIn(
    session: Result<RuntimeSession, string>,
    turn: AcceptedTurn,
    running: Running,
  ): Promise<boolean> {
    const { turnId } = turn;
    if (this.#isOver(turnId) || this.#isClosed) {
      await this.#ending.get(turnId);
      return false;
    }
    const text = await this.#start(session, turn, running);
    if (this.#cancelled.has(turnId)) {
      await this.#end(turnId, running.restart === undefined ? CANCELLED : CANCELLED_BETWEEN);
      return false;
    }
    if (!session.ok) return await this.#notStarted(session.error, running);
    if (!running.restart && !await this.#maySpend(session.value, running)) return false;
    return await this.#runThrough(session.value, { ...turn, text }, running);
  }

  /** Records that the turn starts, or continues; returns its text. */
  async #start(
    session: Result<RuntimeSession, string>,
    turn: AcceptedTurn,
    running: Running,
  ): Promise<string> {
    const { recorder, clock, store, onResumed } = this.#deps;
    const { turnId } = turn;
    const at = clock.now();
    if (running.restart !== undefined) {
      if (!session.ok) return turn.text;
      onResumed(turnId);
      const payload = { text: `The turn continues: ${running.restart}` };
      await recorder.record([{ at, turnId, kind: "notice", payload }], { isControl: true });
      return store.find(turnId)?.text ?? turn.text;
    }
    const cuts = session.ok ? this.#deps.cuts.of(turn.conversation) : [];
    running.reports = cuts.map((cut) => cut.turnId);
    const notes = session.ok ? [...cuts.map((cut) => cut.text), ...store.notes.take()] : [];
    const text = [...notes, turn.text].join("\n\n");
    const goesOn = session.ok && session.value.goesOn === true;
    const steers = session.ok && session.value.steer !== undefined;
    await this.#recordStart(running, { text, goesOn, steers });
    return text;
  }

  /** Handles a start of the runtime that failed; a turn that continues waits for the next one. */
  async #notStarted(reason: string, { turnId, restart }: Running): Promise<boolean> {
    const restarts = restart === undefined ? undefined : this.#countRestart(turnId);
    if (restarts !== undefined) {
      await this.#deps.clock.sleep(restarts * NOT_STARTED_MS, this.#closing.signal);
      return !this.#closing.signal.aborted;
    }
    await this.#end(turnId, { outcome: "failed", code: "runtime-not-started", reason });
    return false;
  }

  async #runThrough(
    session: RuntimeSession,
    turn: AcceptedTurn,
    running: Running,
  ): Promise<boolean> {
    const { onBusy } = this.#deps;
    const { turnId } = turn;
    running.session = session;
    this.#steering.begin(turn, session);
    onBusy(true);
    const outcome = await this.#prompt(session, turn, running.restart !== undefined);
    delete running.session;
    this.#steering.end();
    const isCut = outcome.outcome === "interrupted" && session.goesOn === true &&
      !this.#cancelled.has(turnId);
    if (isCut && this.#isClosed) return false;
    if (isCut && this.#countRestart(turnId) !== undefined) {
      running.restart = (await session.ended).slice(0, REASON_LENGTH_MAX);
      return true;
    }
    this.#running = undefined;
    const isOurs = this.#isClosed && outcome.outcome !== "completed" &&
      !this.#cancelled.has(turnId);
    await this.#end(turnId, isOurs ? STOPPED : outcome);
    // After another end the program may have forgotten the message.
    if (outcome.outcome === "completed") this.#forgetCuts(running.reports ?? []);
    onBusy(false);
    return false;
  }

  /**
   * Counts a restart; undefined if the turn must not continue again. A turn that ends its runtime
   * again and again must end itself.
   */
  #countRestart(turnId: string): number | undefined {
    const counted = this.#deps.store.progress.restarted(turnId);
    return counted.ok && counted.value <= RESTARTS_MAX ? counted.value : undefined;
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Compares the ceilings; ends a turn that may not spend. */
  async #maySpend({ goesOn }: RuntimeSession, { turnId, stop: hold }: Running): Promise<boolean> {
    const signal = AbortSignal.any([hold.signal, this.#closing.signal]);
    const stop = await spendStop(turnId, { ...this.#deps, signal });
    if (stop === undefined && !signal.aborted) return true;
    const isLeftOpen = this.#isClosed && goesOn === true && !this.#cancelled.has(turnId);
    if (!isLeftOpen) await this.#end(turnId, this.#refused(turnId, stop));
    return false;
  }

  /** Whether a turn has ended, or its end is being recorded. */
  #isOver(turnId: string): boolean {
    const state = this.#deps.store.stateOf(turnId);
    return this.#ending.has(turnId) || state === undefined || state === "ended";
  }

  async #prompt(
    session: RuntimeSession,
    turn: AcceptedTurn,
    isRestart: boolean,
  ): Promise<TurnOutcome> {
    const { turnId } = turn;
    const { store, images: turnImages } = this.#deps;
    const { images, pdfs, notes } = await turnImages.forPrompt(turnId, turn.files ?? []);
    // The first process of the turn has reported them.
    for (const note of isRestart ? [] : notes) await this.#events.note(turnId, note);
    const text = [turn.text, ...notes.map((note) => `[${note}]`)].join("\n");
    const offsets = new Map<string, number>();
    const known = isRestart ? store.progress.of(turnId) : undefined;
    const finished = session.prompt(
      {
        turnId,
        text,
        ...(images.length === 0 ? {} : { images }),
        ...(pdfs.length === 0 ? {} : { pdfs }),
      },
      async (update) => {
        const added = unreported(update, known);
        if (added !== undefined) await this.#events.take(turnId, added, offsets);
      },
    );
    return await finished.catch((thrown): TurnOutcome => ({
      outcome: "failed",
      code: "runtime-fault",
      reason: errorText(thrown),
    }));
  }

  /** Records the end of a turn; waits for an end that is being recorded. */
  #end(turnId: string, outcome: TurnOutcome): Promise<void> {
    const pending = this.#ending.get(turnId);
    if (pending !== undefined) return pending;
    const ending = this.#recordEnd(turnId, outcome).finally(() => this.#ending.delete(turnId));
    this.#ending.set(turnId, ending);
    return ending;
  }

  async #recordEnd(turnId: string, outcome: TurnOutcome): Promise<void> {
    await recordTurnEnd(turnId, outcome, this.#deps);
    this.#cancelled.delete(turnId);
    this.#deps.onEnded?.(turnId);
  }

  #forgetCuts(turnIds: readonly string[]): void {
    if (turnIds.length === 0) return;
    const dropped = this.#deps.cuts.drop(turnIds);
    // The next turn reports them again.
    if (!dropped.ok) this.#deps.log.error("note not dropped", { code: dropped.error.code });
  }
}
