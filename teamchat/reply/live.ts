/**
 * Shows an answer while it is written: a stream where the platform offers one, edits of its message
 * once the two minutes of a stream are over, typing signs elsewhere. What it shows is a preview:
 * whatever fails here, the whole answer goes out at the end.
 *
 * | Mode | Shows | Leaves by |
 * |---|---|---|
 * | opening | a first progress line, whose answer is the stream's id | opened → streaming; else typing |
 * | streaming | text that begins with what was shown, at most one request in a second and a half | time → editing; refused → typing; stopped |
 * | editing | edits of the stream's message | refused → silent |
 * | typing | typing signs | refused → silent |
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

/** What is shown, and how. */
export type LiveMode = "opening" | "streaming" | "editing" | "typing" | "silent" | "stopped";

/** What a live answer is made of. */
export interface LiveParts {
  readonly turn: Turn;
  /**
   * No earlier process served it: a stream that one may have opened is the only one there can be.
   */
  readonly isFresh: boolean;
  readonly shown: ShownText;
  readonly connector: Connector;
  readonly clock: Clock;
  /** Keeps what the final message needs, durably. */
  readonly keep: (progress: Partial<DeliveryProgress>) => Promise<void>;
}

const WORKING = "Working on it…";
/** An agent may say a thousand words a second: all that come in this time are one look. */
const LOOK_MS = 50;
/** The first message is made of this much: whatever follows, it stays as it is. */
const READ_LENGTH_MAX = 4 * TEAMCHAT_LIMITS.messageLengthMax;
/** A reason that costs nothing: without one each end would take the stack down. */
const OVER = "over";

/** Shows one answer until it is told to end. */
export class LiveAnswer {
  readonly #parts: LiveParts;
  readonly #stop = new AbortController();
  /** The gateway stops: nothing more goes out. */
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

  constructor(parts: LiveParts) {
    this.#parts = parts;
    const { progress, site } = parts.turn;
    this.#stream = progress.stream;
    // A stream of an earlier process: its numbers are not known any more, its message is.
    const fresh = site.type === "personal" && parts.isFresh ? "opening" : "typing";
    this.#mode = progress.stream === undefined ? fresh : "silent";
  }

  /** The mode at its end. */
  get mode(): LiveMode {
    return this.#mode;
  }

  /** There is something new to show. */
  wake(): void {
    this.#wake();
  }

  /** Shows what the agent is doing until there is text. */
  progress(line: string): void {
    this.#line = line.slice(0, TEAMCHAT_LIMITS.informativeLengthMax);
    this.#wake();
  }

  /** Ends the showing; the request that is under way is waited for by `run`. */
  end(): void {
    this.#stop.abort(OVER);
    this.#wake();
  }

  /** Ends it because the gateway stops: the next start goes on. */
  leave(): void {
    this.#leave.abort(OVER);
    this.end();
  }

  /** Shows until the end; resolves when no request is under way. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted && this.#mode !== "silent" && this.#mode !== "stopped") {
      const call = this.#due();
      if (call === undefined) await this.#wait();
      else await this.#take(call, await this.#send(call));
    }
    // An answer that was there at once: its text ends a stream, because that can be
    // repeated safely.
    if (this.#mode === "opening" && !this.#leave.signal.aborted && this.#isFresh()) {
      const due = this.#streamDue();
      await this.#take(due, await this.#send(due));
    }
  }

  /** Nothing was asked of the platform yet, and nobody asked before a restart. */
  #isFresh(): boolean {
    return this.#sentAt === -Infinity && this.#parts.isFresh;
  }

  async #send(due: Due): Promise<CallOutcome> {
    const { connector, turn, clock } = this.#parts;
    const signal = this.#mode === "opening" ? this.#leave.signal : this.#stop.signal;
    const outcome = await connector.call({ site: turn.site, ...due.call }, signal);
    this.#sentAt = clock.monotonic();
    return outcome;
  }

  /** Waits for news, but not past the moment at which something is due in any case. */
  async #wait(): Promise<void> {
    const { clock } = this.#parts;
    const woken = new AbortController();
    const signal = AbortSignal.any([woken.signal, this.#stop.signal]);
    const sinceMs = clock.monotonic() - this.#sentAt;
    const pauseMs = this.#pauseMs();
    const isNews = this.#isNews();
    let quietUntil = -Infinity;
    let stopLook: (() => void) | undefined;
    const look = () => {
      stopLook = undefined;
      quietUntil = clock.monotonic() + LOOK_MS;
      if (this.#isNews()) woken.abort();
    };
    this.#wake = () => {
      // News within the pause change nothing: it ends when it ends.
      if (isNews || stopLook !== undefined) return;
      const leftMs = quietUntil - clock.monotonic();
      if (leftMs > 0) stopLook = clock.after(leftMs, look);
      else look();
    };
    const idleMs = isNews ? pauseMs : Math.max(pauseMs, TEAMCHAT_LIMITS.streamIdleMs);
    await clock.sleep(Math.max(1, Math.min(idleMs - sinceMs, this.#untilHandOffMs())), signal);
    this.#wake = () => {};
    stopLook?.();
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
    return this.#streamAt + TEAMCHAT_LIMITS.streamMs - this.#parts.clock.monotonic();
  }

  /** The text to show: what the first message of the answer will hold. */
  #text(): string {
    const { turn, shown } = this.#parts;
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
    const sinceMs = this.#parts.clock.monotonic() - this.#sentAt;
    if (this.#untilHandOffMs() <= 0) this.#mode = "editing";
    if (sinceMs < this.#pauseMs()) return undefined;
    const isIdle = sinceMs >= TEAMCHAT_LIMITS.streamIdleMs && this.#mode === "streaming";
    if (!this.#isNews() && !isIdle) return undefined;
    const { site } = this.#parts.turn;
    switch (this.#mode) {
      case "opening":
      case "streaming":
        return this.#streamDue();
      case "editing": {
        const text = this.#text();
        const body = messageBody(site, text, { isAnswer: true });
        return { text, call: { method: "PUT", activity: this.#stream, body, what: "edit" } };
      }
      case "typing":
        return { text: "", call: { method: "POST", body: typingBody(site), what: "typing" } };
      case "silent":
      case "stopped":
        return undefined;
    }
  }

  #streamDue(): Due {
    const { site } = this.#parts.turn;
    const text = this.#text();
    // The first request is a progress line: lost, it loses none of the answer.
    const isText = this.#mode === "streaming" && text.trim() !== "" &&
      text.startsWith(this.#sentText);
    const kind = isText ? "streaming" : "informative";
    const shown = isText ? text : this.#line;
    const sequence = this.#sequence + 1;
    const body = streamBody(site, { kind, sequence, stream: this.#stream, text: shown });
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
    const { keep, clock } = this.#parts;
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

  /** The connection could not be made; a little later it may. */
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
    // Whether the chunk counted is open: the next one takes a number that is new in either case.
    else if (this.#mode === "streaming") this.#sequence++;
    else this.#hold();
  }
}

/** A request that is due, and what will have been shown by it. */
interface Due {
  readonly text: string;
  readonly line?: string;
  readonly call: Omit<Call, "site">;
}
