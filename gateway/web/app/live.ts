/**
 * Keeps the page up to date. Fetches the newest page of the open transcript, then reads one
 * stream, and resumes it after the last event when it is lost. Never requires the user to reload.
 * Why without a library for data: ADR 0026.
 *
 * @module
 */

import { batch } from "@preact/signals";
import { defined } from "core/defined.ts";
import { fetchPage, readStream, Refused, type StreamEvent } from "gateway/web/device/cockpit.ts";
import { withCard, withoutCard } from "gateway/web/state/agents.ts";
import { retryDelay } from "gateway/web/state/connection.ts";
import {
  emptyTranscript,
  hasRoom,
  headless,
  withEvents,
  withNewestPage,
  withOlderFault,
  withOlderPage,
  withPhase,
  withPreview,
  withSteps,
  withTurn,
} from "gateway/web/state/transcript.ts";
import {
  parseCard,
  parseEvent,
  parsePreview,
  record,
  text,
  type WireEvent,
  type WirePreview,
} from "gateway/web/state/wire.ts";
import {
  agents,
  connection,
  hostsProblem,
  isAdmin,
  isHosts,
  now,
  selected,
  sentHosts,
  transcript,
} from "gateway/web/app/model.ts";

/** Turns of a page, newest events of each, and events of a turn fetched with one press. */
const PAGE_TURNS = 10;
const TURN_EVENTS = 50;
const STEPS_EVENTS = 200;
/** Most events of a page: for each turn also its question, and as many events between turns. */
const PAGE_MOST = { events: PAGE_TURNS * (TURN_EVENTS + 1) + TURN_EVENTS, chars: 4 * 1024 * 1024 };
/** After this much silence, a stream is reconnected when the page becomes visible again. */
const STALE_MS = 20_000;
const QUEUE_MAX = 500;

/** Callbacks of the loop. */
export interface LiveEvents {
  readonly onOnline: () => void;
  /** Called with events of the stream after they are in the transcript. */
  readonly onEvents: (events: readonly WireEvent[]) => void;
  /** Called when the newest page is in the transcript. */
  readonly onPage: () => void;
}

/** The running update loop. */
export interface Live {
  /** Opens another agent's transcript, or none. */
  open(agent: string | undefined): void;
  /** Retries at once, if a retry is pending. */
  retryNow(): void;
  loadOlder(): Promise<void>;
  /** Loads older events only if no newer ones would be dropped. */
  loadOlderIfRoom(): Promise<void>;
  /** Fetches the newest omitted steps of a turn. */
  loadSteps(turnId: string): Promise<void>;
  loadNewest(): Promise<void>;
}

/** Creates the loop; the first `open` starts it. */
export function startLive(events: LiveEvents): Live {
  const loop = new Loop(events);
  loop.start();
  return loop;
}

/** An item to render with the next frame. */
type Queued = WireEvent | { readonly preview: WirePreview } | { readonly host: unknown };

class Loop implements Live {
  readonly #events: LiveEvents;
  #abort = new AbortController();
  #cursor: string | undefined;
  #attempt = 0;
  #wake: (() => void) | undefined;
  #lastHeard = 0;
  #queue: Queued[] = [];
  #isFlushPlanned = false;
  #isRunning = false;
  /** The gateway ended the stream only because the viewer's rights changed. */
  #isAgain = false;
  /** Turns whose question was requested; a missing one is not requested again. */
  #asked = new Set<string>();

  constructor(events: LiveEvents) {
    this.#events = events;
  }

  start(): void {
    addEventListener("online", () => this.retryNow());
    addEventListener("pageshow", () => this.#lookedAt());
    document.addEventListener("visibilitychange", () => this.#lookedAt());
  }

  open(agent: string | undefined): void {
    this.#queue = [];
    this.#cursor = undefined;
    this.#asked = new Set();
    transcript.value = emptyTranscript(agent ?? "");
    hostsProblem.value = "";
    if (this.#isRunning) return this.#again();
    this.#isRunning = true;
    void this.#run();
  }

  retryNow(): void {
    if (connection.value.kind !== "online" && connection.value.kind !== "connecting") this.#again();
  }

  /** Aborts requests in flight, so that the loop starts its next round at once. */
  #again(): void {
    this.#attempt = 0;
    this.#abort.abort();
    this.#wake?.();
  }

  #lookedAt(): void {
    if (document.visibilityState !== "visible") return;
    now.value = Date.now();
    const isStale = connection.value.kind === "online" && now.value - this.#lastHeard > STALE_MS;
    if (isStale) this.#again();
    else this.retryNow();
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#abort = new AbortController();
      const { signal } = this.#abort;
      let fault: unknown;
      try {
        await this.#round(signal);
      } catch (thrown) {
        fault = thrown;
      }
      this.#flush();
      if (signal.aborted) continue;
      if (this.#isAgain) {
        this.#isAgain = false;
        continue;
      }
      if (fault instanceof Refused && (this.#isAboutAgent(fault) || isAboutHosts(fault))) continue;
      await this.#pause(fault instanceof Refused && fault.isSignedOut);
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    const agent = transcript.value.phase === "refused" ? undefined : selected.value;
    if (this.#attempt > 0) connection.value = { kind: "retrying", attempt: this.#attempt };
    if (agent !== undefined && this.#cursor === undefined) await this.#newest(agent, signal);
    const topics = [
      "agents",
      ...(isHosts.value && hostsProblem.value === "" ? ["hosts"] : []),
      ...(agent === undefined ? [] : [`transcript:${agent}`]),
    ];
    await readStream(
      { topics, after: agent === undefined ? undefined : this.#cursor, signal },
      async (event) => {
        this.#lastHeard = Date.now();
        if (!signal.aborted) await this.#take(event, agent, signal);
      },
    );
  }

  /** An agent that is not the viewer's is reported in its pane; other updates continue. */
  #isAboutAgent({ problem }: Refused): boolean {
    const isAgent = problem.code === "agent-denied" || problem.code === "input-invalid";
    if (!isAgent || transcript.value.phase === "refused" || selected.value === undefined) {
      return false;
    }
    transcript.value = {
      ...emptyTranscript(selected.value),
      phase: "refused",
      problem: problem.detail,
    };
    return true;
  }

  async #pause(isSignedOut: boolean): Promise<void> {
    this.#attempt++;
    const delay = retryDelay(this.#attempt, Math.random());
    now.value = Date.now();
    connection.value = isSignedOut
      ? { kind: "signed-out" }
      : { kind: "waiting", attempt: this.#attempt, retryAt: now.value + delay };
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, delay);
    });
    this.#wake = undefined;
  }

  async #newest(agent: string, signal?: AbortSignal): Promise<void> {
    const of = { by: { turns: PAGE_TURNS }, limit: TURN_EVENTS };
    const page = await fetchPage(agent, { ...of, ...defined({ signal }) });
    if (selected.value !== agent) return;
    this.#flush();
    transcript.value = withNewestPage(transcript.value, page);
    this.#cursor ??= page.cursor;
    this.#events.onPage();
  }

  async loadNewest(): Promise<void> {
    const agent = selected.value;
    if (agent !== undefined) await this.#newest(agent).catch(() => this.retryNow());
  }

  async loadOlder(): Promise<void> {
    const { before, isLoadingOlder, agent } = transcript.value;
    if (before === null || isLoadingOlder || isLost()) return;
    transcript.value = { ...transcript.value, isLoadingOlder: true };
    const of = { by: { turns: PAGE_TURNS }, before, limit: TURN_EVENTS };
    const page = await fetchPage(agent, of).catch(() => undefined);
    this.#flush();
    const { value } = transcript;
    if (value.agent !== agent || !value.isLoadingOlder) return;
    transcript.value = page === undefined
      ? withOlderFault(value)
      // The window now begins elsewhere: this page would leave a gap.
      : value.before !== before
      ? { ...value, isLoadingOlder: false }
      : withOlderPage(value, page);
  }

  async loadOlderIfRoom(): Promise<void> {
    if (hasRoom(transcript.value, PAGE_MOST)) await this.loadOlder();
  }

  async loadSteps(turnId: string): Promise<void> {
    const { agent, cuts, epoch } = transcript.value;
    const cut = cuts.get(turnId);
    if (cut === undefined || cut.phase === "loading" || isLost()) return;
    transcript.value = withPhase(transcript.value, turnId, "loading");
    const of = { by: { turn: turnId }, before: `${epoch}:${cut.before}`, limit: STEPS_EVENTS };
    const part = await fetchPage(agent, of).catch(() => undefined);
    if (transcript.value.agent !== agent) return;
    this.#flush();
    transcript.value = withSteps(transcript.value, { turnId, before: cut.before }, part);
  }

  /** Fetches the question of a running turn that began before the window. */
  async #head(agent: string, turnId: string): Promise<void> {
    this.#asked.add(turnId);
    const of = { by: { turn: turnId }, limit: TURN_EVENTS };
    const page = await fetchPage(agent, of).catch(() => undefined);
    // The next event requests it again.
    if (page === undefined) return void this.#asked.delete(turnId);
    if (transcript.value.agent !== agent) return;
    this.#flush();
    transcript.value = withTurn(transcript.value, page);
  }

  async #take(event: StreamEvent, agent: string | undefined, signal: AbortSignal): Promise<void> {
    switch (event.event) {
      case "hello":
        this.#attempt = 0;
        takeViewer(record(event.data).viewer);
        // After a reconnect, a failed older page is worth a retry.
        if (connection.value.kind !== "connecting" && transcript.value.hasOlderFailed) {
          transcript.value = { ...transcript.value, hasOlderFailed: false };
        }
        connection.value = { kind: "online" };
        this.#events.onOnline();
        break;
      case "lagged":
        // Move the cursor only after the page is stored: a disconnect in between must not leave a
        // gap.
        if (agent !== undefined) await this.#newest(agent, signal);
        break;
      case "agents":
        if (Array.isArray(event.data)) {
          agents.value = event.data.map(parseCard).filter((one) => one !== undefined);
        }
        return;
      case "agent": {
        const card = parseCard(event.data);
        if (card !== undefined) agents.value = withCard(agents.value ?? [], card);
        return;
      }
      case "hosts":
        this.#flush();
        sentHosts.value = record(event.data);
        return;
      case "host":
        this.#enqueue({ host: event.data });
        return;
      case "preview": {
        const preview = parsePreview(event.data);
        if (preview !== undefined) this.#enqueue({ preview });
        return;
      }
      case "agent_removed":
        agents.value = withoutCard(agents.value ?? [], text(record(event.data).agent));
        return;
      case "closing":
        this.#isAgain = record(event.data).retry === "now";
        return;
      default: {
        const stored = parseEvent(event.data);
        if (stored !== undefined) this.#enqueue(stored);
      }
    }
    const id = event.id ?? text(record(event.data).id);
    if (id !== "" && !signal.aborted) this.#cursor = id;
  }

  /** Renders at most once per frame, however fast events arrive. */
  #enqueue(item: Queued): void {
    this.#queue.push(item);
    if (this.#queue.length >= QUEUE_MAX) this.#flush();
    if (this.#isFlushPlanned || this.#queue.length === 0) return;
    this.#isFlushPlanned = true;
    // A hidden page gets no animation frames.
    if (document.visibilityState === "hidden") setTimeout(() => this.#flush(), 100);
    else requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushPlanned = false;
    const items = this.#queue;
    if (items.length === 0) return;
    this.#queue = [];
    const stored: WireEvent[] = [];
    let next = transcript.value;
    let hosts = sentHosts.value;
    let run: WireEvent[] = [];
    for (const item of items) {
      if ("preview" in item) {
        next = withPreview(withEvents(next, run), item.preview);
        run = [];
      } else if ("host" in item) {
        hosts = withHost(hosts ?? {}, item.host);
      } else {
        run.push(item);
        if (item.agent === next.agent) stored.push(item);
      }
    }
    next = withEvents(next, run);
    batch(() => {
      transcript.value = next;
      sentHosts.value = hosts;
      this.#events.onEvents(stored);
    });
    for (const turnId of headless(next, stored)) {
      if (!this.#asked.has(turnId)) void this.#head(next.agent, turnId);
    }
  }
}

/** Takes over the viewer's rights, which may have changed since the page was loaded. */
function takeViewer(data: unknown): void {
  const { agent, is_admin: isNowAdmin } = record(data);
  if (typeof agent !== "string") return;
  document.documentElement.dataset.agent = agent;
  isAdmin.value = isNowAdmin === true;
  // The refusal of the hosts no longer applies.
  if (isAdmin.value) hostsProblem.value = "";
}

function isLost(): boolean {
  const { kind } = connection.value;
  return kind !== "online" && kind !== "connecting";
}

/** Hosts are for admins: a viewer who no longer is one gets a message, and the rest continues. */
function isAboutHosts({ problem }: Refused): boolean {
  if (problem.code !== "fleet-denied" || hostsProblem.value !== "") return false;
  sentHosts.value = undefined;
  hostsProblem.value = problem.detail;
  return true;
}

/** Replaces a host's previous card. */
function withHost(list: Readonly<Record<string, unknown>>, host: unknown) {
  const name = record(host).host;
  const others = (Array.isArray(list.hosts) ? list.hosts : [])
    .filter((one) => record(one).host !== name);
  return { ...list, hosts: [...others, host] };
}
