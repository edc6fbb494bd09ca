/**
 * What the page reads from the cockpit, checked once at the edge: a server of another version must
 * not make the page fail. No I/O; shapes are those of `docs/protocol.md`.
 *
 * @module
 */

/** A card of the list of agents. */
export interface AgentCard {
  readonly agent: string;
  readonly isOwn: boolean;
  readonly isOnline: boolean;
  readonly state: string;
  readonly reason: string | null;
  readonly since: number | null;
  readonly host: string | null;
  readonly lastSeen: { readonly at: number; readonly closeCode: number } | null;
}

/** A stored event. */
export interface WireEvent {
  readonly seq: number;
  readonly agent: string;
  readonly turnId: string | null;
  readonly at: number;
  readonly kind: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** A piece of a message that is still being written. */
export interface WirePreview {
  readonly agent: string;
  readonly turnId: string;
  readonly messageId: string;
  readonly text: string;
  readonly offset: number | undefined;
}

/** How many events there are, and of what kinds. */
export interface EventCounts {
  readonly events: number;
  readonly calls: number;
  readonly messages: number;
  readonly notices: number;
  readonly failed: number;
}

/** A turn of which a page has the question and the newest events only. */
export interface WireCut {
  readonly turnId: string;
  /** Number of the first event after what is left out. */
  readonly before: number;
  readonly counts: EventCounts;
}

/** A page of a transcript. */
export interface WirePage {
  readonly events: readonly WireEvent[];
  readonly before: string | null;
  readonly cursor: string;
  /** None in a page of an older gateway, which goes by events. */
  readonly cuts: readonly WireCut[];
}

/** A refusal of the cockpit (RFC 9457). */
export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  /** One line for each faulty field: `key: is not accepted`. */
  readonly errors: readonly string[];
  /** Commands that may help. */
  readonly hints: readonly string[];
}

/** An object of JSON, or an empty one. */
export function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Record<string, unknown>
    : {};
}

/** A text of JSON, or the fallback. */
export function text(value: unknown, fallback = ""): string {
  return typeof value === "string" ? value : fallback;
}

/** A number of JSON, or the fallback. */
export function number(value: unknown, fallback = 0): number {
  return typeof value === "number" && Number.isFinite(value) ? value : fallback;
}

/** The texts of a list of JSON; none of anything else. */
export function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map((one) => text(one)) : [];
}

/** Parses JSON; undefined for anything else. */
export function parseJson(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return undefined;
  }
}

/** Splits `<epoch>:<seq>`. */
export function readCursor(
  id: string,
): { readonly epoch: string; readonly seq: number } | undefined {
  const colon = id.lastIndexOf(":");
  const seq = Number(id.slice(colon + 1));
  return colon > 0 && Number.isSafeInteger(seq) ? { epoch: id.slice(0, colon), seq } : undefined;
}

/** Reads a card; undefined when it names no agent. */
export function readCard(value: unknown): AgentCard | undefined {
  const given = record(value);
  const agent = text(given.agent);
  if (agent === "") return undefined;
  const seen = given.last_seen === null ? undefined : record(given.last_seen);
  return {
    agent,
    isOwn: given.is_own === true,
    isOnline: given.is_online === true,
    state: text(given.state, "unknown"),
    reason: typeof given.reason === "string" ? given.reason : null,
    since: typeof given.since === "number" ? given.since : null,
    host: typeof given.host === "string" ? given.host : null,
    lastSeen: seen === undefined || typeof seen.at !== "number"
      ? null
      : { at: seen.at, closeCode: number(seen.close_code) },
  };
}

/** Reads an event; undefined when it has no place in the log. */
export function readEvent(value: unknown): WireEvent | undefined {
  const given = record(value);
  const cursor = readCursor(text(given.id));
  if (cursor === undefined) return undefined;
  return {
    seq: cursor.seq,
    agent: text(given.agent),
    turnId: typeof given.turn_id === "string" ? given.turn_id : null,
    at: number(given.at),
    kind: text(given.kind),
    payload: record(given.payload),
  };
}

/** Reads a preview; undefined for one of a kind that is not known here. */
export function readPreview(value: unknown): WirePreview | undefined {
  const given = record(value);
  const payload = record(given.payload);
  const messageId = text(payload.message_id);
  if (given.kind !== "text_delta" || messageId === "") return undefined;
  return {
    agent: text(given.agent),
    turnId: text(given.turn_id),
    messageId,
    text: text(payload.text),
    offset: typeof payload.offset === "number" ? payload.offset : undefined,
  };
}

/** Reads a page. */
export function readPage(value: unknown): WirePage | undefined {
  const given = record(value);
  const cursor = text(given.cursor);
  if (!Array.isArray(given.events) || readCursor(cursor) === undefined) return undefined;
  return {
    events: given.events.map(readEvent).filter((event) => event !== undefined),
    before: typeof given.before === "string" ? given.before : null,
    cursor,
    cuts: Array.isArray(given.cuts) ? given.cuts.flatMap((each) => readCut(each) ?? []) : [],
  };
}

function readCut(value: unknown): WireCut | undefined {
  const given = record(value);
  const turnId = text(given.turn_id);
  const before = readCursor(text(given.before))?.seq;
  if (turnId === "" || before === undefined) return undefined;
  const counts = record(given.counts);
  return {
    turnId,
    before,
    counts: {
      events: number(counts.events),
      calls: number(counts.calls),
      messages: number(counts.messages),
      notices: number(counts.notices),
      failed: number(counts.failed),
    },
  };
}

/** Reads a refusal; one that is not readable is told by its status. */
export function readProblem(status: number, body: string): Problem {
  const given = record(parseJson(body));
  return {
    status,
    code: text(given.code, `http-${status}`),
    detail: text(given.detail, `The gateway answered with status ${status}`),
    errors: texts(given.errors),
    hints: texts(given.hints),
  };
}
