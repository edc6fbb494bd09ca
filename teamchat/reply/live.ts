/**
 * Shows an answer while it is written: a stream where the platform supports one, edits of its
 * message when the time of a stream is over, typing indicators elsewhere. All of this is a
 * preview: whatever fails here, the whole answer is sent at the end.
 *
 * | Mode | Shows | Next mode |
 * |---|---|---|
 * | opening | a first progress line; the response has the stream's id | opened → streaming; failed → typing; refused → silent |
 * | streaming | text that begins with what was shown, at most one request per 1.5 seconds | its time is over → editing; refused → silent; the owner presses "stop" → stopped |
 * | editing | edits of the stream's message | refused → silent |
 * | typing | typing indicators | refused → silent |
 * | silent | nothing | |
 * | stopped | nothing: the owner pressed "stop" | |
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Clock } from "core/ports/clock.ts";
import { withoutSources } from "teamchat/reply/citations.ts";
import { messageBody, streamBody, typingBody } from "teamchat/reply/activities.ts";
import type { ShownText } from "teamchat/reply/answer_text.ts";
import type { Call, Connector } from "teamchat/reply/connector.ts";
import { cutAnswer } from "teamchat/reply/cuts.ts";
import type { CallOutcome } from "teamchat/reply/outcome.ts";
import type { DeliveryProgress, Turn } from "teamchat/store/turn.ts";

/** Mode of the preview. */
export type LiveMode = "opening" | "streaming" | "editing" | "typing" | "silent" | "stopped";

/** Dependencies of a live answer. */
export interface LiveDeps {
  readonly turn: Turn;
  /**
   * Whether no earlier process has served this turn. If one has, no new stream is opened: only the
   * one that it may have opened is used.
   */
  readonly isFresh: boolean;
  readonly shown: ShownText;
  readonly connector: Connector;
  readonly clock: Clock;
  /** Stores durably what the final message needs. */
  readonly keep: (progress: Partial<DeliveryProgress>) => Promise<void>;
}

const WORKING = "Working on it…";
/** An agent may send a thousand words per second: handle all that arrive in this time together. */
const CHECK_MS = 50;
/** Text longer than this does not change the first message. */
const READ_LENGTH_MAX = 4 * TEAMCHAT_LIMITS.messageLengthMax;
/** A constant abort reason; the default one captures a stack trace each time. */
const OVER = "over";

/** Shows one answer until `end` or `leave`. */
export class LiveAnswer {
  readonly #deps: LiveDeps;
  readonly #stop = new AbortController();
  /** Aborted when the gateway stops: nothing more is sent. */
  readonly #leave = new AbortController();
  #mode: LiveMode;
  #stream: string | undefined;
  #streamAt = 0;
  #sequence = 0;
  #sentText = "";
  #line = WORKING;
  #sentLine = "";
  #sentAt = -Infinity;
  #gapMs = 0;
  #wake = () => {};

  constructor(deps: LiveDeps) {
    this.#deps = deps;
    const { progress, context } = deps.turn;
    this.#stream = progress.stream;
    // An earlier process's stream: its sequence numbers are lost, but its message id is stored.
    const fresh = context.type === "personal" && deps.isFresh ? "opening" : "typing";
    this.#mode = progress.stream === undefined ? fresh : "silent";
  }

  /** The current mode; after `run`, the final one. */
  get mode(): LiveMode {
    return this.#mode;
  }

  /** Call when there is new text to show. */
  wake(): void {
    this.#wake();
  }

  /** Shows the agent's progress until there is text. */
  progress(line: string): void {
    this.#line = line.slice(0, TEAMCHAT_LIMITS.informativeLengthMax);
    this.#wake();
  }

  /** Ends the preview; `run` waits for the request in flight. */
  end(): void {
    this.#stop.abort(OVER);
    this.#wake();
  }

  /** Ends it because the gateway stops; the next start resumes. */
  leave(): void {
    this.#leave.abort(OVER);
    this.end();
  }

  /** Shows the answer until the end; resolves when no request is in flight. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted && this.#mode !== "silent" && this.#mode !== "stopped") {
      const call = this.#due();
      if (call === undefined) await this.#wait();
      else await this.#take(call, await this.#send(call));
    }
    // The answer was complete at once: open a stream, because ending one can be repeated safely.
    if (this.#mode === "opening" && !this.#leave.signal.aborted && this.#isFresh()) {
      const due = this.#streamDue();
      await this.#take(due, await this.#send(due));
    }
  }

  /** Whether no request was made yet, neither here nor before a restart. */
  #isFresh(): boolean {
    return this.#sentAt === -Infinity && this.#deps.isFresh;
  }

  async #send(due: Due): Promise<CallOutcome> {
    const { connector, turn, clock } = this.#deps;
    const signal = this.#mode === "opening" ? this.#leave.signal : this.#stop.signal;
    const outcome = await connector.call({ context: turn.context, ...due.call }, signal);
    this.#sentAt = clock.monotonic();
    return outcome;
  }

  /** Waits for new text, at most until something is due. */
  async #wait(): Promise<void> {
    const { clock } = this.#deps;
    const woken = new AbortController();
    const signal = AbortSignal.any([woken.signal, this.#stop.signal]);
    const sinceMs = clock.monotonic() - this.#sentAt;
    const pauseMs = this.#pauseMs();
    const isNews = this.#isNews();
    let quietUntil = -Infinity;
    let stopCheck: (() => void) | undefined;
    const check = () => {
      stopCheck = undefined;
      quietUntil = clock.monotonic() + CHECK_MS;
      if (this.#isNews()) woken.abort();
    };
    this.#wake = () => {
      // New text does not shorten the pause.
      if (isNews || stopCheck !== undefined) return;
      const leftMs = quietUntil - clock.monotonic();
      if (leftMs > 0) stopCheck = clock.after(leftMs, check);
      else check();
    };
    const idleMs = isNews ? pauseMs : Math.max(pauseMs, TEAMCHAT_LIMITS.streamIdleMs);
    await clock.sleep(Math.max(1, Math.min(idleMs - sinceMs, this.#untilHandOffMs())), signal);
    this.#wake = () => {};
    stopCheck?.();
  }

  #pauseMs(): number {
    const { streamGapMs, editGapMs, typingMs } = TEAMCHAT_LIMITS;
    const usual = this.#mode === "editing"
      ? editGapMs
      : this.#mode === "typing"
      ? typingMs
      : streamGapMs;
    return Math.max(usual, this.#gapMs);
  }

  #untilHandOffMs(): number {
    if (this.#mode !== "streaming") return Infinity;
    return this.#streamAt + TEAMCHAT_LIMITS.streamMs - this.#deps.clock.monotonic();
  }

  /** The text to show: the content of the answer's first message. */
  #text(): string {
    const { turn, shown } = this.#deps;
    const text = shown.text().slice(0, READ_LENGTH_MAX);
    return cutAnswer(withoutSources(text), turn.progress.cuts)[0] ?? "";
  }

  #isNews(): boolean {
    if (this.#mode === "typing") return true;
    const text = this.#text();
    if (text.trim() === "") return this.#mode === "opening" || this.#line !== this.#sentLine;
    if (this.#mode === "editing") return text !== this.#sentText;
    return text.length > this.#sentText.length && text.startsWith(this.#sentText);
  }

  #due(): Due | undefined {
    const sinceMs = this.#deps.clock.monotonic() - this.#sentAt;
    if (this.#untilHandOffMs() <= 0) this.#mode = "editing";
    if (sinceMs < this.#pauseMs()) return undefined;
    const isIdle = sinceMs >= TEAMCHAT_LIMITS.streamIdleMs && this.#mode === "streaming";
    if (!this.#isNews() && !isIdle) return undefined;
    const { context } = this.#deps.turn;
    switch (this.#mode) {
      case "opening":
      case "streaming":
        return this.#streamDue();
      case "editing": {
        const text = this.#text();
        const body = messageBody(context, text, { isAnswer: true });
        return { text, call: { method: "PUT", activity: this.#stream, body, what: "edit" } };
      }
      case "typing":
        return { text: "", call: { method: "POST", body: typingBody(context), what: "typing" } };
      case "silent":
      case "stopped":
        return undefined;
    }
  }

  #streamDue(): Due {
    const { context } = this.#deps.turn;
    const text = this.#text();
    // The first request is a progress line: if it is lost, no text of the answer is lost.
    const isText = this.#mode === "streaming" && text.trim() !== "" &&
      text.startsWith(this.#sentText);
    const kind = isText ? "streaming" : "informative";
    const shown = isText ? text : this.#line;
    const sequence = this.#sequence + 1;
    const body = streamBody(context, { kind, sequence, stream: this.#stream, text: shown });
    return {
      text: isText ? text : "",
      line: this.#line,
      call: { method: "POST", body, what: kind },
    };
  }

  async #take(due: Due, outcome: CallOutcome): Promise<void> {
    this.#gapMs = outcome.kind === "throttled" ? outcome.waitMs : 0;
    switch (outcome.kind) {
      case "ok":
        return await this.#took(due, outcome.id);
      case "throttled":
        return;
      case "unreachable":
        return this.#hold();
      case "stream-ended":
        return this.#streamEnded(outcome.why);
      case "ambiguous":
      case "failed":
        return this.#failed();
      case "too-large":
      case "blocked":
      case "gone":
      case "unauthorized":
        this.#mode = "silent";
    }
  }

  async #took(due: Due, id: string | undefined): Promise<void> {
    const { keep, clock } = this.#deps;
    if (this.#mode === "opening") {
      if (id === undefined) {
        this.#mode = "typing";
        return;
      }
      this.#mode = "streaming";
      this.#stream = id;
      this.#streamAt = clock.monotonic();
      await keep({ stream: id, streamAt: clock.now() });
    }
    if (this.#mode === "streaming") this.#sequence++;
    if (due.text !== "") this.#sentText = due.text;
    if (due.line !== undefined) this.#sentLine = due.line;
  }

  /** The connection failed; retry a little later. */
  #hold(): void {
    this.#gapMs = TEAMCHAT_LIMITS.editGapMs;
  }

  #streamEnded(why: "time" | "cancelled" | "completed" | "not-allowed"): void {
    if (why === "cancelled") this.#mode = "stopped";
    else if (why === "time" && this.#stream !== undefined) this.#mode = "editing";
    else this.#mode = this.#mode === "opening" ? "typing" : "silent";
  }

  #failed(): void {
    if (this.#mode === "opening") this.#mode = "typing";
    // It is unknown whether the chunk counted; in both cases the next one needs a new number.
    else if (this.#mode === "streaming") this.#sequence++;
    else this.#hold();
  }
}

/** A request that is due, and the text that it shows. */
interface Due {
  readonly text: string;
  readonly line?: string;
  readonly call: Omit<Call, "context">;
}
