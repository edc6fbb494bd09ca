/**
 * Faults of a model endpoint, as values: a stable code, a sentence for people, hints, and whether a
 * retry can help. Classifies errors of the `ai` library; never prints a key. No I/O.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { cutText } from "core/text/cut_text.ts";
import type { ModelSettings } from "units/agent_loop/settings.ts";

/** Codes of failed model calls (docs/errors.md). */
export type ModelFaultCode =
  | "model-unauthorized"
  | "model-not-found"
  | "model-rate-limited"
  | "model-quota-exhausted"
  | "model-overloaded"
  | "model-unreachable"
  | "model-stream-cut"
  | "model-silent"
  | "model-garbage"
  | "model-context-exceeded"
  | "model-effort-refused"
  | "model-request-refused";

/** Why a model call gave no answer. */
export interface ModelFault {
  readonly code: ModelFaultCode;
  /** Sentence without final period. */
  readonly reason: string;
  readonly hints: readonly string[];
  readonly isRetryable: boolean;
  /** The delay that the endpoint requested in `Retry-After`, in milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/** Thrown for an address that answers like a web site, such as a wrong base URL or a login page. */
export class NotAnEndpoint extends Error {
  override readonly name = "NotAnEndpoint";
  constructor() {
    super("a web page");
  }
}

/** Where a call was sent, for messages. */
export interface FaultContext {
  readonly settings: ModelSettings;
  readonly agent: string;
  /** Milliseconds since the epoch, for dates in `Retry-After`. */
  readonly now: number;
  /** Whether the stream had begun when it failed. */
  readonly hasStarted: boolean;
}

/** Maximum size of the endpoint's own text in a reason. */
const TEXT_BYTES_MAX = 400;
/** Lowercase phrases by which endpoints and the HTTP stack describe their faults. */
const CONTEXT_PHRASES = [
  "context length",
  "context_length",
  "context window",
  "maximum context",
  "too many tokens",
  "too many input tokens",
  "prompt is too long",
  "input is too long",
];
const EFFORT_PHRASES = ["effort", "reasoning", "thinking"];
const QUOTA_PHRASES = ["insufficient_quota", "billing", "credit balance", "payment"];
const CUT_PHRASES = [
  "without a finish reason",
  "terminated",
  "body error",
  "error reading a body",
  "connection closed",
  "connection reset",
  "connection error",
  "unexpected eof",
  "incomplete",
  "premature",
];
const DOWN_PHRASES = [
  "fetch failed",
  "error sending request",
  "connect",
  "econnrefused",
  "dns",
  "network",
  "timeout",
  "timed out",
];
const OVERLOAD_PHRASES = ["overloaded", "server_error", "internal"];
const PARSE_ERRORS = [
  "NotAnEndpoint",
  "JSONParseError",
  "TypeValidationError",
  "InvalidResponseData",
  "EmptyResponseBody",
  "SyntaxError",
];

/** Classifies an error that a model call threw or streamed. */
export function judgeError(error: unknown, context: FaultContext): ModelFault {
  const status = numberField(error, "statusCode");
  const text = shownText(error, context.settings);
  if (status !== undefined) return judgeStatus(status, text, { error, context });
  const all = `${ownText(error)} ${ownText(causeOf(error))}`;
  if (containsAny(text, CONTEXT_PHRASES)) {
    return fault("model-context-exceeded", withEndpointText(context, text));
  }
  const isCut = containsAny(all, CUT_PHRASES) || (context.hasStarted && !isParseError(error));
  if (isCut) {
    return fault(
      "model-stream-cut",
      `${endpointName(context)} stopped before the answer was complete: ${text}`,
      {
        isRetryable: true,
      },
    );
  }
  if (isParseError(error)) return fault("model-garbage", notAnAnswer(context, text));
  if (containsAny(all, DOWN_PHRASES)) {
    return fault("model-unreachable", `${endpointName(context)} cannot be reached: ${text}`, {
      isRetryable: true,
      hints: reachHints(context),
    });
  }
  // An `error` event in the stream, such as Anthropic's overloaded_error.
  return containsAny(all, OVERLOAD_PHRASES)
    ? fault("model-overloaded", withEndpointText(context, text), { isRetryable: true })
    : fault("model-request-refused", withEndpointText(context, text));
}

/** The fault of a stream that ended without a finish reason. */
export function streamCutFault(context: FaultContext): ModelFault {
  return fault(
    "model-stream-cut",
    `${endpointName(context)} stopped before the answer was complete, without a finish reason`,
    { isRetryable: true },
  );
}

/** The fault of an endpoint that sent nothing for too long. */
export function silentFault(context: FaultContext, seconds: number): ModelFault {
  return fault("model-silent", `${endpointName(context)} sent nothing for ${seconds} s`, {
    isRetryable: !context.hasStarted,
  });
}

function judgeStatus(
  status: number,
  text: string,
  of: { readonly error: unknown; readonly context: FaultContext },
): ModelFault {
  const { context } = of;
  const answered = `${endpointName(context)} answered ${status}: ${text}`;
  const { keyName, model } = context.settings;
  if (status === 401 || status === 403) {
    return fault("model-unauthorized", answered, {
      hints: [`fleetctl secret set ${keyName} --agent ${context.agent}`],
    });
  }
  if (status === 402 || (status === 429 && containsAny(text, QUOTA_PHRASES))) {
    return fault("model-quota-exhausted", answered);
  }
  if (containsAny(text, CONTEXT_PHRASES) || status === 413) {
    return fault("model-context-exceeded", answered);
  }
  if (status === 404) {
    return fault("model-not-found", `${answered} (model ${JSON.stringify(model)})`, {
      hints: [`fleetctl agents model set ${context.agent} --help`],
    });
  }
  const retryAfterMs = parseRetryAfter(headersOf(of.error), context.now);
  if (status === 429) {
    return fault("model-rate-limited", answered, { isRetryable: true, retryAfterMs });
  }
  if (status >= 500 || status === 408) {
    return fault("model-overloaded", answered, { isRetryable: true, retryAfterMs });
  }
  if (status < 300) {
    return containsAny(text, CUT_PHRASES)
      ? fault(
        "model-stream-cut",
        `${endpointName(context)} stopped before the answer was complete: ${text}`,
        {
          isRetryable: true,
        },
      )
      : fault("model-garbage", notAnAnswer(context, text));
  }
  const { effort } = context.settings;
  if (effort !== undefined && containsAny(text, EFFORT_PHRASES)) {
    return fault("model-effort-refused", `The model refuses the effort "${effort}": ${answered}`, {
      hints: [
        `fleetctl secret unset FLEETCTL_EFFORT --agent ${context.agent}`,
        `fleetctl agents restart ${context.agent}`,
      ],
    });
  }
  return fault("model-request-refused", answered);
}

/** Reads `retry-after-ms` and `Retry-After` (seconds or a date); undefined when there is none. */
export function parseRetryAfter(
  headers: Readonly<Record<string, string>>,
  now: number,
): number | undefined {
  const ms = Number(headers["retry-after-ms"] ?? NaN);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const text = headers["retry-after"];
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1000;
  // A date contains the name of a month. `Date.parse` would also accept a bare number.
  const at = /[A-Za-z]{3}/.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

function fault(
  code: ModelFaultCode,
  reason: string,
  more: {
    readonly isRetryable?: boolean;
    readonly hints?: readonly string[];
    readonly retryAfterMs?: number | undefined;
  } = {},
): ModelFault {
  return {
    code,
    reason,
    hints: more.hints ?? [],
    isRetryable: more.isRetryable ?? false,
    retryAfterMs: more.retryAfterMs,
  };
}

function endpointName(context: FaultContext): string {
  const { provider, baseUrl } = context.settings;
  return baseUrl === undefined
    ? `The model endpoint of ${provider}`
    : `The model endpoint ${new URL(baseUrl).host}`;
}

function withEndpointText(context: FaultContext, text: string): string {
  return `${endpointName(context)} reported: ${text}`;
}

function notAnAnswer(context: FaultContext, text: string): string {
  return `${endpointName(context)} answered with something that is not a model answer: ${text}`;
}

function reachHints(context: FaultContext): readonly string[] {
  const { baseUrl } = context.settings;
  return baseUrl === undefined ? [] : [`curl -sS -o /dev/null -w '%{http_code}\\n' ${baseUrl}`];
}

/** The endpoint's own text: short, on one line and without any key. */
function shownText(error: unknown, settings: ModelSettings): string {
  const body = stringField(error, "responseBody");
  const cause = causeOf(error);
  const causeText = cause === undefined ? "" : `: ${ownText(cause)}`;
  const own = ownText(error);
  const text = messageIn(body) ?? (own === "" ? body ?? "no reason given" : `${own}${causeText}`);
  const line = text.replace(/\s+/g, " ").trim();
  const clean = settings.key === undefined || settings.key === ""
    ? line
    : line.replaceAll(settings.key, "***");
  return cutText(clean.replace(/\b(sk|key)-[A-Za-z0-9_-]{8,}/g, "$1-***"), TEXT_BYTES_MAX).text;
}

/** The text of an error, or of an error object from the stream. */
function ownText(error: unknown): string {
  if (error instanceof Error || typeof error !== "object" || error === null) {
    return error === undefined ? "" : errorText(error);
  }
  const { message, type, code } = error as Readonly<Record<string, unknown>>;
  if (typeof message !== "string") return JSON.stringify(error);
  const kind = code ?? type;
  return typeof kind === "string" ? `${message} (${kind})` : message;
}

/** `{"error": {"message": "…"}}`, the shape that all providers share. */
function messageIn(body: string | undefined): string | undefined {
  if (body === undefined) return undefined;
  try {
    const parsed: unknown = JSON.parse(body);
    const error = (parsed as { error?: unknown } | null)?.error;
    const message = (error as { message?: unknown } | null)?.message ?? error;
    const kind = error as { code?: unknown; type?: unknown } | null;
    const code = kind?.code ?? kind?.type;
    if (typeof message !== "string") return undefined;
    return typeof code === "string" ? `${message} (${code})` : message;
  } catch {
    return undefined;
  }
}

function isParseError(error: unknown): boolean {
  const names = [error, causeOf(error)].map((each) => each instanceof Error ? each.name : "");
  return names.some((name) => PARSE_ERRORS.some((known) => name.includes(known)));
}

function containsAny(text: string, phrases: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return phrases.some((phrase) => lower.includes(phrase));
}

function causeOf(error: unknown): unknown {
  return (error as { cause?: unknown } | null)?.cause;
}

function headersOf(error: unknown): Readonly<Record<string, string>> {
  const headers = (error as { responseHeaders?: unknown } | null)?.responseHeaders;
  return typeof headers === "object" && headers !== null
    ? headers as Readonly<Record<string, string>>
    : {};
}

function numberField(error: unknown, name: string): number | undefined {
  const value = (error as Record<string, unknown> | null)?.[name];
  return typeof value === "number" ? value : undefined;
}

function stringField(error: unknown, name: string): string | undefined {
  const value = (error as Record<string, unknown> | null)?.[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
