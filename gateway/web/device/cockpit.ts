/**
 * Client of the cockpit's API: pages of a transcript, turns, the event stream. Shows nothing to
 * the user. A lost connection throws the original error, a refusal throws `Refused`.
 *
 * @module
 */

import { type ApprovalItem, parseApprovals } from "gateway/web/state/approvals.ts";
import { parseQuestions, type QuestionItem } from "gateway/web/state/questions.ts";
import { createParser } from "eventsource-parser";
import { VIEWER } from "gateway/web/device/kept.ts";
import { SILENCE_MAX_MS } from "gateway/web/state/connection.ts";
import { answerOf, type OutboxItem, type SendAnswer } from "gateway/web/state/outbox.ts";
import { type ModelCard, type ModelRequest, parseModel } from "gateway/web/state/model_form.ts";
import {
  parseJson,
  parsePage,
  parseProblem,
  type Problem,
  record,
  text,
  type WirePage,
} from "gateway/web/state/wire.ts";

/** Timeout for the answer to a message. */
const SEND_TIMEOUT_MS = 15_000;
const PAGE_TIMEOUT_MS = 30_000;
/** The test of an endpoint takes up to twice 15 s; then the host applies and the agent restarts. */
const MODEL_TIMEOUT_MS = 90_000;

/** Event on `window` when the cockpit reports that a different viewer is signed in. */
export const OTHER_VIEWER = "fleetctl-other-viewer";

/** Sends the request as this page's viewer, so that another user's session cannot answer it. */
async function fetchAsViewer(path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  if (VIEWER !== "") headers.set("fleetctl-page-viewer", encodeURIComponent(VIEWER));
  // A redirect leads to the login page, which must never be parsed as an answer.
  return await fetch(path, { credentials: "same-origin", redirect: "manual", ...init, headers });
}

/** Parses a refusal, and dispatches `OTHER_VIEWER` when the viewer has changed. */
async function problemOf(response: Response): Promise<Problem> {
  const body = response.type === "opaqueredirect" ? "" : await response.text().catch(() => "");
  const problem = parseProblem(response.status, body);
  if (problem.code === "viewer-changed") dispatchEvent(new Event(OTHER_VIEWER));
  return problem;
}

/** The cockpit answered with a refusal or an unexpected response. */
export class Refused extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }

  /** There is no login: the proxy redirects to its login page, or the cockpit found no viewer. */
  get isSignedOut(): boolean {
    const { status, code } = this.problem;
    return status === 0 || status === 401 || code === "viewer-denied";
  }
}

/** Sends a request to the cockpit. Throws `Refused` for any response but success. */
export async function ask(path: string, init: RequestInit): Promise<Response> {
  const response = await fetchAsViewer(path, { cache: "no-store", ...init });
  if (response.ok) return response;
  throw new Refused(await problemOf(response));
}

/** Fetches a page by turns, or events of one turn: the newest, or those before a cursor. */
export async function fetchPage(
  agent: string,
  of: {
    readonly by: { readonly turns: number } | { readonly turn: string };
    readonly before?: string;
    readonly limit: number;
    readonly signal?: AbortSignal;
  },
): Promise<WirePage> {
  const query = new URLSearchParams({ agent, limit: String(of.limit) });
  for (const [name, value] of Object.entries(of.by)) query.set(name, String(value));
  if (of.before !== undefined) query.set("before", of.before);
  const response = await ask(`/api/transcript?${query}`, {
    headers: { accept: "application/json" },
    signal: AbortSignal.any([
      AbortSignal.timeout(PAGE_TIMEOUT_MS),
      ...(of.signal === undefined ? [] : [of.signal]),
    ]),
  });
  const page = parsePage(parseJson(await response.text()));
  if (page === undefined) throw new Error("the page of the transcript is not readable");
  return page;
}

/** Sends a message; never throws. */
export async function sendTurn(item: OutboxItem): Promise<SendAnswer> {
  try {
    const response = await fetchAsViewer("/api/turns", {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": item.key },
      body: JSON.stringify({ agent: item.agent, text: item.text }),
      signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
    });
    if (!response.ok) {
      return answerOf(response.status, { turnId: "", ...await problemOf(response) });
    }
    const turnId = text(record(parseJson(await response.text())).turn_id);
    return answerOf(response.status, { turnId, code: "", detail: "" });
  } catch {
    return { kind: "unknown" };
  }
}

/** Requests the cancellation of a turn. */
export async function cancelTurn(agent: string, turnId: string): Promise<void> {
  await ask("/api/turns/cancel", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ agent, turn_id: turnId }),
    signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
  });
}

/** Asks the agent to let its running turn read a waiting one. */
export async function steerTurn(agent: string, turnId: string): Promise<void> {
  await ask("/api/turns/steer", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ agent, turn_id: turnId }),
    signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
  });
}

/** What waits for the owner. */
export interface Waiting {
  readonly approvals: readonly ApprovalItem[];
  /** False when no question waits; an older gateway does not say. */
  readonly hasQuestions: boolean;
}

/** Fetches the calls that wait for the owner. */
export async function fetchApprovals(agent: string, signal: AbortSignal): Promise<Waiting> {
  const response = await ask(`/api/approvals?${new URLSearchParams({ agent })}`, { signal });
  const body = await response.json();
  return { approvals: parseApprovals(body), hasQuestions: body?.open_questions !== 0 };
}

/** Decides one call. Refused when it is already decided, has expired, or is a different call. */
export async function sendDecision(body: Readonly<Record<string, string>>): Promise<void> {
  await ask("/api/approvals/decide", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
  });
}

/** Fetches the questions that wait for the owner. */
export async function fetchQuestions(
  agent: string,
  signal: AbortSignal,
): Promise<readonly QuestionItem[]> {
  const response = await ask(`/api/questions?${new URLSearchParams({ agent })}`, { signal });
  return parseQuestions(await response.json());
}

/** Answers one question. Refused when it no longer waits, or when the answer does not fit. */
export async function sendQuestionAnswer(body: Readonly<Record<string, unknown>>): Promise<void> {
  await ask("/api/questions/answer", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
  });
}

/** Fetches an agent's model. */
export async function fetchModel(agent: string): Promise<ModelCard> {
  return await askModel(`/api/model?${new URLSearchParams({ agent })}`, {});
}

/** Sets a model. Resolves after the endpoint was tested and the agent restarted. */
export async function chooseModel(body: ModelRequest): Promise<ModelCard> {
  return await askModel("/api/model", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function askModel(path: string, init: RequestInit): Promise<ModelCard> {
  const response = await ask(path, { ...init, signal: AbortSignal.timeout(MODEL_TIMEOUT_MS) });
  const card = parseModel(parseJson(await response.text()));
  if (card === undefined) throw new Error("the answer about the model is not readable");
  return card;
}

/** One event of the stream. */
export interface StreamEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: unknown;
}

/** Reads the stream until it ends. Throws when it is lost, silent for too long, or aborted. */
export async function readStream(
  of: {
    readonly topics: readonly string[];
    readonly after: string | undefined;
    readonly signal: AbortSignal;
  },
  onEvent: (event: StreamEvent) => Promise<void> | void,
): Promise<void> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const resetSilence = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(new Error("the stream is silent")), SILENCE_MAX_MS);
  };
  const query = new URLSearchParams({ topics: of.topics.join(",") });
  if (of.after !== undefined) query.set("after", of.after);
  const waiting: StreamEvent[] = [];
  const parser = createParser({
    onEvent: ({ id, event, data }) => {
      const parsed = parseJson(data);
      if (parsed !== undefined) waiting.push({ id, event: event ?? "message", data: parsed });
    },
  });
  resetSilence();
  try {
    const response = await ask(`/events?${query}`, {
      headers: { accept: "text/event-stream" },
      signal: AbortSignal.any([of.signal, silence.signal]),
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    if (reader === undefined) throw new Error("the stream has no body");
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      resetSilence();
      parser.feed(value);
      for (const event of waiting.splice(0)) await onEvent(event);
    }
  } finally {
    clearTimeout(timer);
  }
}
