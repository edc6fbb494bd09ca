/**
 * Parses the cockpit's data once, where it enters: a server of another version must not break the
 * page. No I/O; shapes are those of `docs/protocol.md`.
 *
 * @module
 */

/** A card in the list of agents. */
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

/** A piece of an unfinished message. */
export interface WirePreview {
  readonly agent: string;
  readonly turnId: string;
  readonly messageId: string;
  readonly text: string;
  readonly offset: number | undefined;
}

/** Number of events, and of each kind. */
export interface EventCounts {
  readonly events: number;
  readonly calls: number;
  readonly messages: number;
  readonly notices: number;
  readonly failed: number;
}

/** A turn of which a page has only the question and the newest events. */
export interface WireTruncation {
  readonly turnId: string;
  /** Sequence number of the first event after the omitted ones. */
  readonly before: number;
  readonly counts: EventCounts;
}

/** A page of a transcript. */
export interface WirePage {
  readonly events: readonly WireEvent[];
  readonly before: string | null;
  readonly cursor: string;
  /** Empty in a page of an older gateway, which pages by events. */
  readonly cuts: readonly WireTruncation[];
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

/** Returns a JSON object, or an empty one for any other value. */
export function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Record<string, unknown>
    : {};
}

/** Returns a JSON string, or the fallback. */
export function text(value: unknown, fallback = ""): string {
  return typeof value === "string" ? value : fallback;
}

/** Returns a JSON number, or the fallback. */
export function number(value: unknown, fallback = 0): number {
  return typeof value === "number" && Number.isFinite(value) ? value : fallback;
}

/** Returns the strings of a JSON array; empty for any other value. */
export function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map((one) => text(one)) : [];
}

/** Parses JSON; undefined when invalid. */
export function parseJson(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return undefined;
  }
}

/** Splits `<epoch>:<seq>`. */
export function parseCursor(
  id: string,
): { readonly epoch: string; readonly seq: number } | undefined {
  const colon = id.lastIndexOf(":");
  const seq = Number(id.slice(colon + 1));
  return colon > 0 && Number.isSafeInteger(seq) ? { epoch: id.slice(0, colon), seq } : undefined;
}

/** Parses a card; undefined when it names no agent. */
export function parseCard(value: unknown): AgentCard | undefined {
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

/** Parses an event; undefined without a position in the log. */
export function parseEvent(value: unknown): WireEvent | undefined {
  const given = record(value);
  const cursor = parseCursor(text(given.id));
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

/** Parses a preview; undefined for an unknown kind. */
export function parsePreview(value: unknown): WirePreview | undefined {
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

/** Parses a page. */
export function parsePage(value: unknown): WirePage | undefined {
  const given = record(value);
  const cursor = text(given.cursor);
  if (!Array.isArray(given.events) || parseCursor(cursor) === undefined) return undefined;
  return {
    events: given.events.map(parseEvent).filter((event) => event !== undefined),
    before: typeof given.before === "string" ? given.before : null,
    cursor,
    cuts: Array.isArray(given.cuts)
      ? given.cuts.flatMap((each) => parseTruncation(each) ?? [])
      : [],
  };
}

function parseTruncation(value: unknown): WireTruncation | undefined {
  const given = record(value);
  const turnId = text(given.turn_id);
  const before = parseCursor(text(given.before))?.seq;
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

/** Parses a refusal; an unreadable one is described by its status. */
export function parseProblem(status: number, body: string): Problem {
  const given = record(parseJson(body));
  return {
    status,
    code: text(given.code, `http-${status}`),
    detail: text(given.detail, `The gateway answered with status ${status}`),
    errors: texts(given.errors),
    hints: texts(given.hints),
  };
}
