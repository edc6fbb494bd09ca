/**
 * A runtime controlled by a test: each turn runs a script, and the process dies on demand.
 *
 * @module
 */

import type {
  PromptImage,
  RuntimeDriver,
  RuntimeSession,
  RuntimeUpdate,
  SteerMessage,
  TurnOutcome,
} from "units/dial/runtimes/driver.ts";

/** What a script can use. */
export interface TurnStage {
  readonly turnId: string;
  readonly text: string;
  readonly images?: readonly PromptImage[] | undefined;
  /** Reports an update and waits until it has been accepted. */
  readonly report: (update: RuntimeUpdate) => Promise<void>;
  /** Aborts when the turn is cancelled or the runtime dies. */
  readonly signal: AbortSignal;
}

/** A scripted driver. */
export interface ScriptedRuntime extends RuntimeDriver {
  /** Turns that have begun, in order. */
  readonly begun: readonly string[];
  readonly starts: () => number;
  /** The conversation of each start, in order; "default" for the default one. */
  readonly opened: readonly string[];
  /** Ends the running process as `kill -9` would. */
  kill(reason?: string): void;
  /** Makes further starts fail; undefined lets them succeed again. */
  failStarts(reason: string | undefined): void;
  /** Makes further starts wait until the returned function is called. */
  holdStart(): () => void;
  /** Makes further ends of the program wait until the returned function is called. */
  holdEnd(): () => void;
  /** States what the program would lose if it were ended. */
  leave(unfinished: string | undefined): void;
  /** States when the program last wrote something, by the monotonic clock; 0 at first. */
  writeAt(ms: number): void;
}

/**
 * Creates a driver that runs `script` for each turn. The default script echoes the text. With
 * `goesOn` it says that it continues turns.
 */
export function scriptedRuntime(
  script: (stage: TurnStage) => Promise<TurnOutcome> = echo,
  { goesOn = false, onSteer }: {
    readonly goesOn?: boolean;
    /** Receives the messages for a running turn; without it, the program accepts none. */
    readonly onSteer?: (message: SteerMessage) => void;
  } = {},
): ScriptedRuntime {
  return new Scripted(script, goesOn, onSteer);
}

class Scripted implements ScriptedRuntime {
  readonly begun: string[] = [];
  readonly opened: string[] = [];
  readonly #script: (stage: TurnStage) => Promise<TurnOutcome>;
  #failure: string | undefined;
  #unfinished: string | undefined;
  #lastOutputMs = 0;
  #heldStart: Promise<void> = Promise.resolve();
  #heldEnd: Promise<void> = Promise.resolve();
  #end = (_reason: string) => {};

  readonly #goesOn: boolean;
  readonly #onSteer: ((message: SteerMessage) => void) | undefined;

  constructor(
    script: (stage: TurnStage) => Promise<TurnOutcome>,
    goesOn: boolean,
    onSteer: ((message: SteerMessage) => void) | undefined,
  ) {
    this.#script = script;
    this.#goesOn = goesOn;
    this.#onSteer = onSteer;
  }

  starts = () => this.opened.length;

  kill(reason = "signal SIGKILL"): void {
    this.#end(reason);
  }

  failStarts(reason: string | undefined): void {
    this.#failure = reason;
  }

  holdStart(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#heldStart = promise;
    return resolve;
  }

  holdEnd(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#heldEnd = promise;
    return resolve;
  }

  leave(unfinished: string | undefined): void {
    this.#unfinished = unfinished;
  }

  writeAt(ms: number): void {
    this.#lastOutputMs = ms;
  }

  async start(signal?: AbortSignal, conversation = "default"): Promise<RuntimeSession> {
    this.opened.push(conversation);
    const ended = new Promise<void>((done) => signal?.addEventListener("abort", () => done()));
    await Promise.race([this.#heldStart, ended]);
    if (signal?.aborted === true) throw new Error("it is no longer needed");
    if (this.#failure !== undefined) throw new Error(this.#failure);
    return this.#session();
  }

  #session(): RuntimeSession {
    const { promise: ended, resolve } = Promise.withResolvers<string>();
    const death = new AbortController();
    let cancelling = new AbortController();
    this.#end = (reason) => {
      death.abort();
      resolve(reason);
    };
    const onSteer = this.#onSteer;
    const steer = (message: SteerMessage) => Promise.resolve(onSteer?.(message));
    return {
      goesOn: this.#goesOn,
      ...(onSteer === undefined ? {} : { steer }),
      ended,
      lastOutputMs: () => this.#lastOutputMs,
      unfinished: () => this.#unfinished,
      close: async (_graceMs) => {
        await this.#heldEnd;
        this.#end("closed");
      },
      cancel: () => {
        cancelling.abort();
        return Promise.resolve();
      },
      prompt: async ({ turnId, text, images }, report) => {
        this.begun.push(turnId);
        cancelling = new AbortController();
        const signal = AbortSignal.any([cancelling.signal, death.signal]);
        return await Promise.race([
          this.#script({ turnId, text, images, report, signal }),
          stopped(signal, death.signal),
        ]);
      },
    };
  }
}

/** Resolves with the outcome of a turn that is cancelled, or whose program dies. */
function stopped(signal: AbortSignal, death: AbortSignal): Promise<TurnOutcome> {
  const died = { outcome: "interrupted", code: "runtime-died", reason: "it died" } as const;
  return new Promise((done) =>
    signal.addEventListener(
      "abort",
      () => done(death.aborted ? died : { outcome: "cancelled" }),
    )
  );
}

async function echo({ turnId, text, report }: TurnStage): Promise<TurnOutcome> {
  const messageId = `m-${turnId}`;
  await report({ kind: "text_delta", messageId, text });
  await report({ kind: "message", messageId, text });
  return { outcome: "completed" };
}

/** A script that waits until its turn is cancelled or the runtime is killed. */
export function hang(): Promise<TurnOutcome> {
  return new Promise(() => {});
}
