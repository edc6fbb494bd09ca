/**
 * The cockpit client of `fleetctl up --turn`. It uses the same routes and the same proof as the
 * page: it opens a resumable event stream and posts turns. Prints nothing. See `docs/protocol.md`.
 *
 * @module
 */

import { createParser } from "eventsource-parser";
import { defined } from "core/defined.ts";
import { errorText, refusal } from "core/errors.ts";
import { ANSWER_LIMITS } from "core/limits/http.ts";
import { readJson } from "core/net/bounded_body.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";

/** The address of the cockpit, and the proof of the viewer's identity. */
export interface CockpitClient {
  /** `http://127.0.0.1:8731`, without a slash at the end. */
  readonly base: string;
  readonly http: HttpClient;
  readonly clock: Clock;
  /** Headers that name and prove the viewer for one request. */
  readonly proof: (method: string, path: string) => Promise<Readonly<Record<string, string>>>;
}

/** One event of a stream; `id` is undefined for previews. */
export interface StreamedEvent {
  readonly id: string | undefined;
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Pause before a lost connection is retried, in milliseconds. */
const RECONNECT_MS = 300;

interface Problem {
  readonly text: string;
  readonly code: string;
  readonly hints: readonly string[];
}

/** Reads an RFC 9457 body. Any other answer is described by its status. */
async function readProblem(response: Response): Promise<Problem> {
  const body = await readJson(response.body, ANSWER_LIMITS.bytesMax).catch(err);
  if (!body.ok || !isRecord(body.value)) {
    return { text: `HTTP ${response.status}`, code: "answer-unreadable", hints: [] };
  }
  const { code: named, hints: listed, detail, title } = body.value;
  const code = typeof named === "string" ? named : `http-${response.status}`;
  const given = Array.isArray(listed) ? listed.map(String) : [];
  return {
    text: String(detail ?? title ?? "no reason given"),
    code,
    hints: given.length > 0 ? given : code === "storage-full" ? ["df -h"] : ["fleetctl status"],
  };
}

/** Posts one turn and returns its id. Repeating an `idempotencyKey` never creates a second turn. */
export async function postTurn(
  client: CockpitClient,
  turn: { readonly agent: string; readonly text: string; readonly idempotencyKey: string },
): Promise<Result<string>> {
  const path = "/api/turns";
  let response: Response;
  try {
    response = await client.http.fetch(client.base + path, {
      method: "POST",
      headers: {
        ...(await client.proof("POST", path)),
        "content-type": "application/json",
        "idempotency-key": turn.idempotencyKey,
      },
      body: JSON.stringify({ agent: turn.agent, text: turn.text }),
    });
  } catch (thrown) {
    return err(
      refusal("gateway-unreachable", `Cannot send the turn: ${errorText(thrown)}`, {
        hints: ["fleetctl status"],
      }),
    );
  }
  if (!response.ok) {
    const { text, code, hints } = await readProblem(response);
    return err(
      refusal("turn-refused", `Cannot send the turn to "${turn.agent}": ${text} (${code})`, {
        hints,
      }),
    );
  }
  const answer = await readJson(response.body, ANSWER_LIMITS.bytesMax);
  const turnId = answer.ok && isRecord(answer.value) ? answer.value["turn_id"] : undefined;
  return typeof turnId === "string"
    ? ok(turnId)
    : err(refusal("turn-refused", "Cannot send the turn: the gateway gave no turn id"));
}

/**
 * Requests the end of a turn. The caller waits for the turn's own end, so an unreachable gateway is
 * not reported here.
 */
export async function cancelTurn(
  client: CockpitClient,
  turn: { readonly agent: string; readonly turnId: string },
): Promise<void> {
  const path = "/api/turns/cancel";
  try {
    const response = await client.http.fetch(client.base + path, {
      method: "POST",
      headers: { ...(await client.proof("POST", path)), "content-type": "application/json" },
      body: JSON.stringify({ agent: turn.agent, turn_id: turn.turnId }),
    });
    await response.body?.cancel();
  } catch {
    // The caller's wait for the turn's end is bounded and reports the fault.
  }
}

async function* parseBody(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamedEvent> {
  const pending: StreamedEvent[] = [];
  const parser = createParser({
    maxBufferSize: ANSWER_LIMITS.bytesMax,
    onError(fault) {
      if (fault.type === "max-buffer-size-exceeded") throw fault;
    },
    onEvent(event) {
      pending.push({
        id: event.id,
        kind: event.event ?? "message",
        data: JSON.parse(event.data) as Record<string, unknown>,
      });
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    while (pending.length > 0) yield pending.shift() as StreamedEvent;
  }
}

/** A stream that survives lost connections. It resumes after the last event that it delivered. */
export interface EventStream {
  readonly events: AsyncGenerator<StreamedEvent>;
  close(): void;
}

/**
 * Opens `/events` for the topics. Resolves once the gateway has answered, so that no later event is
 * missed.
 */
export async function openEvents(
  client: CockpitClient,
  topics: readonly string[],
): Promise<Result<EventStream>> {
  const path = "/events";
  const closing = new AbortController();
  let lastId: string | undefined;
  const connect = async () =>
    await client.http.fetch(
      `${client.base}${path}?topics=${topics.map(encodeURIComponent).join(",")}`,
      {
        headers: {
          ...(await client.proof("GET", path)),
          accept: "text/event-stream",
          ...defined({ "last-event-id": lastId }),
        },
        signal: closing.signal,
      },
    );
  let response: Response | undefined;
  try {
    response = await connect();
  } catch (thrown) {
    return err(
      refusal("gateway-unreachable", `Cannot open the event stream: ${errorText(thrown)}`),
    );
  }
  if (!response.ok || response.body === null) {
    const { text, code, hints } = await readProblem(response);
    return err(
      refusal("events-refused", `Cannot open the event stream: ${text} (${code})`, { hints }),
    );
  }
  async function* read(): AsyncGenerator<StreamedEvent> {
    while (!closing.signal.aborted) {
      try {
        response ??= await connect();
        if (response.ok && response.body !== null) {
          for await (const event of parseBody(response.body)) {
            if (event.id !== undefined && event.id !== "") lastId = event.id;
            yield event;
          }
        }
      } catch {
        // The loop handles a lost connection: the next round resumes after `lastId`.
      }
      response = undefined;
      if (!closing.signal.aborted) await client.clock.sleep(RECONNECT_MS, closing.signal);
    }
  }
  return ok({ events: read(), close: () => closing.abort() });
}
