/**
 * One client of an event stream. The log is the queue: a slow client is served from the log when
 * it reads again, so only one buffer exists per client.
 *
 * Durable events have an id and are never lost or duplicated. Previews, presence and hosts have no
 * id. Previews are dropped while the client is behind the head of the log. A client that is too
 * far behind gets `lagged`: its stream continues at the id in that message, and it fetches the
 * missed events as pages.
 *
 * @module
 */

import type { Owner } from "core/access/viewer.ts";
import { errorText } from "core/errors.ts";
import { type Cursor, formatCursor } from "gateway/cockpit/cursor.ts";
import type { CockpitDeps } from "gateway/cockpit/deps.ts";
import { formatSse, showEvent } from "gateway/cockpit/sse.ts";
import type { Closing } from "gateway/cockpit/streams.ts";
import { STREAM_LIMITS } from "gateway/limits.ts";
import type { HubItem } from "gateway/transcript/hub.ts";

/** What one client subscribes to. */
export interface StreamWish {
  readonly viewer: Owner;
  /** Agents whose transcripts are sent. */
  readonly agents: readonly string[];
  /** Where to resume; undefined for new events only. */
  readonly from: Cursor | undefined;
  /** Describes agents for the `agents` topic; undefined without that topic. */
  readonly presence:
    | {
      readonly isVisible: (agent: string) => boolean;
      readonly describe: (agents: readonly string[] | undefined) => Promise<readonly unknown[]>;
    }
    | undefined;
  /** Describes hosts for the `hosts` topic; undefined without that topic. */
  readonly hosts?: {
    readonly all: () => Promise<unknown>;
    readonly some: (hosts: ReadonlySet<string>) => Promise<readonly unknown[]>;
  };
}

/** Dependencies of a stream. */
export type StreamDeps = Pick<
  CockpitDeps,
  "store" | "hub" | "streams" | "metrics" | "clock" | "log"
>;

/** Events read from the log per query. */
const BATCH = 100;
/** Previews that wait until the events before them are sent. */
const WAITING_PREVIEWS_MAX = 64;
/** Delay before a browser reconnects after a lost connection. */
const RETRY_MS = 1_000;

/** Feeds one client's stream. */
export class StreamClient {
  readonly #wish: StreamWish;
  readonly #deps: StreamDeps;
  readonly #wanted: ReadonlySet<string>;
  readonly #encoder = new TextEncoder();
  /** Agents whose card has changed since it was last sent. */
  readonly #dirty = new Set<string>();
  /** Agents that left the ledger. */
  readonly #removed = new Set<string>();
  /** Hosts whose card has changed since it was last sent. */
  readonly #dirtyHosts = new Set<string>();
  #previews: { readonly turnId: string; readonly text: string }[] = [];
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /**
   * Sequence number of the last event that was sent, or skipped because it concerns other agents.
   */
  #cursor = 0;
  #isStarted = false;
  #isPumping = false;
  #isAskedAgain = false;
  #hasFreshEvent = false;
  #isOver = false;
  #releases: (() => void)[] = [];

  constructor(wish: StreamWish, deps: StreamDeps) {
    this.#wish = wish;
    this.#deps = deps;
    this.#wanted = new Set(wish.agents);
  }

  /** Sends `hello`, then the events of the log. Calls `remove` when the stream ends. */
  async start(
    controller: ReadableStreamDefaultController<Uint8Array>,
    remove: () => void,
  ): Promise<void> {
    this.#controller = controller;
    const unsubscribe = this.#deps.hub.subscribe((item) => this.#hear(item));
    this.#releases = [remove, unsubscribe, this.#keepAlive()];
    try {
      await this.#begin();
    } catch (thrown) {
      this.stop();
      throw thrown;
    }
    await this.pump();
  }

  /** Releases everything; the client has disconnected. */
  stop(): void {
    this.#isOver = true;
    for (const release of this.#releases) release();
    this.#releases = [];
  }

  /** Sends `closing` and ends the stream. */
  end(closing: Closing): void {
    if (this.#isOver) return;
    this.#send(formatSse({ event: "closing", data: closing }));
    this.stop();
    this.#controller?.close();
  }

  /** Sends what is pending, as far as the buffer has room. */
  async pump(): Promise<void> {
    if (!this.#isStarted || this.#isOver) return;
    this.#isAskedAgain = true;
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      while (this.#isAskedAgain && !this.#isOver) {
        this.#isAskedAgain = false;
        this.#hasFreshEvent = false;
        const isAtHead = await this.#drain();
        // An event that arrived meanwhile must precede the previews that arrived after it.
        if (!this.#hasFreshEvent || !isAtHead) this.#sendPreviews(isAtHead);
        await this.#sendPresence();
        this.#sendRemoved();
        await this.#sendHosts();
      }
    } catch (thrown) {
      this.#deps.log.error("event stream failed", { error: errorText(thrown) });
      this.end({ reason: "the stream failed" });
    } finally {
      this.#isPumping = false;
    }
  }

  #room(): number {
    return this.#isOver ? 0 : this.#controller?.desiredSize ?? 0;
  }

  #send(text: string): void {
    if (!this.#isOver) this.#controller?.enqueue(this.#encoder.encode(text));
  }

  async #begin(): Promise<void> {
    const { events } = this.#deps.store;
    const { from, presence, hosts } = this.#wish;
    const head = await events.head();
    const isKnown = from === undefined || (from.epoch === events.epoch && from.seq <= head);
    this.#cursor = isKnown ? from?.seq ?? head : head;
    // The id lets a client that disconnects before the first event resume without a gap.
    const id = formatCursor(events.epoch, this.#cursor);
    const { agent, isAdmin } = this.#wish.viewer;
    const viewer = { agent, is_admin: isAdmin };
    const hello = formatSse({ id, event: "hello", data: { cursor: id, viewer } });
    this.#send(`retry: ${RETRY_MS}\n${hello}`);
    if (!isKnown) await this.#lag("unknown-id");
    if (presence !== undefined) {
      this.#send(formatSse({ event: "agents", data: await presence.describe(undefined) }));
    }
    if (hosts !== undefined) this.#send(formatSse({ event: "hosts", data: await hosts.all() }));
    this.#isStarted = true;
  }

  async #lag(reason: string): Promise<void> {
    const { store, metrics } = this.#deps;
    this.#cursor = await store.events.head();
    this.#previews = [];
    metrics.count("streams", { what: "lagged" });
    const id = formatCursor(store.events.epoch, this.#cursor);
    this.#send(formatSse({ id, event: "lagged", data: { reason, resume: id } }));
  }

  /**
   * Sends the log's events after the cursor while the buffer has room. Returns true at the log's
   * end.
   */
  async #drain(): Promise<boolean> {
    const { events } = this.#deps.store;
    while (this.#room() > 0) {
      if (await this.#isTooFarBehind()) await this.#lag("too-far-behind");
      const head = await events.head();
      const batch = await events.after({
        agents: this.#wish.agents,
        after: this.#cursor,
        limit: BATCH,
        bytesMax: this.#room(),
      });
      if (batch.length === 0) {
        this.#cursor = Math.max(this.#cursor, head);
        return !this.#isOver;
      }
      for (const event of batch) {
        if (this.#room() <= 0) return false;
        const shown = showEvent(events.epoch, event);
        this.#send(formatSse({ id: shown.id, event: event.kind, data: shown }));
        this.#cursor = event.seq;
      }
    }
    return false;
  }

  async #isTooFarBehind(): Promise<boolean> {
    const { events } = this.#deps.store;
    const max = STREAM_LIMITS.replayEventsMax;
    if (await events.head() - this.#cursor <= max) return false;
    const query = { agents: this.#wish.agents, after: this.#cursor, max: max + 1 };
    return await events.countAfter(query) > max;
  }

  async #sendPresence(): Promise<void> {
    const { presence } = this.#wish;
    if (presence === undefined || this.#dirty.size === 0 || this.#room() <= 0) return;
    const agents = [...this.#dirty];
    this.#dirty.clear();
    for (const card of await presence.describe(agents)) {
      this.#send(formatSse({ event: "agent", data: card }));
    }
  }

  #sendRemoved(): void {
    if (this.#removed.size === 0 || this.#room() <= 0) return;
    for (const agent of this.#removed) {
      this.#send(formatSse({ event: "agent_removed", data: { agent } }));
    }
    this.#removed.clear();
  }

  async #sendHosts(): Promise<void> {
    const { hosts } = this.#wish;
    if (hosts === undefined || this.#dirtyHosts.size === 0 || this.#room() <= 0) return;
    const changed = new Set(this.#dirtyHosts);
    this.#dirtyHosts.clear();
    for (const card of await hosts.some(changed)) {
      this.#send(formatSse({ event: "host", data: card }));
    }
  }

  #sendPreviews(isAtHead: boolean): void {
    const waiting = this.#previews;
    this.#previews = [];
    for (const { text } of waiting) {
      const isSent = isAtHead && this.#room() > 0;
      this.#deps.metrics.count("previews", { result: isSent ? "sent" : "dropped" });
      if (isSent) this.#send(text);
    }
  }

  #hear(item: HubItem): void {
    switch (item.kind) {
      case "event":
        if (!this.#wanted.has(item.event.agent)) return;
        this.#hasFreshEvent = true;
        // The complete message replaces its previews; a later preview would restore the partial
        // text.
        this.#previews = this.#previews.filter(({ turnId }) => turnId !== item.event.turnId);
        break;
      case "presence":
        if (this.#wish.presence?.isVisible(item.agent) !== true) return;
        this.#dirty.add(item.agent);
        // An agent that was removed and added again.
        this.#removed.delete(item.agent);
        break;
      case "removed":
        if (this.#wish.presence?.isVisible(item.agent) !== true) return;
        this.#dirty.delete(item.agent);
        this.#removed.add(item.agent);
        break;
      case "host":
        if (this.#wish.hosts === undefined) return;
        this.#dirtyHosts.add(item.host);
        break;
      case "preview": {
        const isFull = this.#room() <= 0 || this.#previews.length >= WAITING_PREVIEWS_MAX;
        if (!this.#wanted.has(item.agent) || isFull) return;
        const data = { agent: item.agent, ...item.event };
        this.#previews.push({
          turnId: item.event.turn_id,
          text: formatSse({ event: "preview", data }),
        });
      }
    }
    void this.pump();
  }

  /** Keeps proxies and browsers from closing an idle stream. */
  #keepAlive(): () => void {
    const { clock } = this.#deps;
    let cancel = () => {};
    const beat = () => {
      if (this.#room() > 0) this.#send(": keep-alive\n\n");
      cancel = clock.after(STREAM_LIMITS.keepAliveSeconds * 1000, beat);
    };
    cancel = clock.after(STREAM_LIMITS.keepAliveSeconds * 1000, beat);
    return () => cancel();
  }
}
