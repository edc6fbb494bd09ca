/**
 * Requests to the platform's connector: to allowed addresses only, within the platform's rate
 * limits, with a token, without redirects, all with timeouts. `outcome.ts` interprets the
 * responses. Why without the vendor's SDK: ADR 0021.
 *
 * Source: Bot Connector REST API, "Conversations"; Teams "Optimize your bot with rate limiting".
 *
 * @module
 */

import { type HttpCall, HttpCallFault } from "core/http1/http_call.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import type { Log } from "core/ports/log.ts";
import { CONVERSATION_WINDOWS, createPace, type Pace } from "teamchat/reply/pace.ts";
import { createFairSemaphore } from "core/concurrency/fair_semaphore.ts";
import { isPathId } from "core/teamchat/path_id.ts";
import { checkServiceUrl, type ServiceHosts } from "core/teamchat/service_url.ts";
import type { Metrics } from "teamchat/metrics.ts";
import type { AppTokens } from "teamchat/reply/app_token.ts";
import { createCalls } from "teamchat/reply/call.ts";
import { type CallOutcome, parseOutcome } from "teamchat/reply/outcome.ts";
import type { ReplyContext } from "teamchat/store/turn.ts";

/** One request. */
export interface Call {
  readonly context: ReplyContext;
  readonly method: "POST" | "PUT";
  /** Id of the message that is changed or answered. */
  readonly activity?: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
  /** Label for the counters. */
  readonly what: string;
}

/** Sends requests. */
export interface Connector {
  /** Sends one request when the rate limits allow it; never rejects. */
  call(call: Call, signal?: AbortSignal): Promise<CallOutcome>;
}

/** Dependencies of the connector. */
export interface ConnectorDeps {
  readonly hosts: ServiceHosts;
  /** Undefined in local mode. */
  readonly tokens: AppTokens | undefined;
  /** Requests per second to the platform, for all conversations together. */
  readonly sendsPerSecond: number;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Conversations with a remembered rate; beyond that, idle ones are dropped. */
const PACES_KEPT = 4_096;
/** Addresses with a cached check. */
const BASES_KEPT = 256;

/** Creates the connector. */
export function createConnector(deps: ConnectorDeps): Connector {
  const { clock, metrics, log, tokens } = deps;
  const sending: Sending = {
    tokens,
    clock,
    send: createCalls(deps.http, clock),
    check: rememberedCheck(deps.hosts),
  };
  const paces = new Map<string, Pace>();
  const gate = createFairSemaphore({
    max: TEAMCHAT_LIMITS.concurrentSendsMax,
    maxPerKey: TEAMCHAT_LIMITS.concurrentSendsPerOwnerMax,
    pace: createPace([{ count: deps.sendsPerSecond, ms: 1_000 }]),
    clock,
  });
  metrics.gauge("sends_waiting", () => gate.waiting());

  function paceOf(conversation: string): Pace {
    const known = paces.get(conversation);
    if (known !== undefined) return known;
    if (paces.size >= PACES_KEPT) {
      for (const [name, pace] of paces) if (pace.isIdle(clock.monotonic())) paces.delete(name);
    }
    const made = createPace(CONVERSATION_WINDOWS);
    paces.set(conversation, made);
    return made;
  }

  /**
   * Waits until the platform's limits allow a request, fairly between owners. Returns undefined
   * when the wait was aborted.
   */
  async function waitForTurn(context: ReplyContext, signal?: AbortSignal) {
    const pace = paceOf(context.conversation);
    while (signal?.aborted !== true) {
      const waitMs = pace.waitMs(clock.monotonic());
      if (waitMs > 0) {
        await clock.sleep(waitMs, signal);
        continue;
      }
      const leave = await gate.acquire(context.user.id, signal);
      if (leave === undefined) return undefined;
      const now = clock.monotonic();
      if (pace.waitMs(now) <= 0) {
        pace.countEntry(now);
        return leave;
      }
      // Other requests of this conversation were sent meanwhile.
      leave();
    }
    return undefined;
  }

  return {
    call: async (call, signal) => {
      const leave = await waitForTurn(call.context, signal);
      if (leave === undefined) return { kind: "unreachable", why: "stopping" };
      const outcome = await callOnce(call, sending).finally(leave);
      metrics.count("sends", { what: call.what, outcome: outcome.kind });
      if (outcome.kind !== "ok") {
        const { kind } = outcome;
        const why = "why" in outcome ? outcome.why : undefined;
        log.info("send failed", { what: call.what, outcome: kind, reason: why });
      }
      return outcome;
    },
  };
}

interface Sending extends Pick<ConnectorDeps, "tokens" | "clock"> {
  readonly send: HttpCall;
  /** Checks each request's destination: the settings may have changed since it was stored. */
  readonly check: (base: string) => ReturnType<typeof checkServiceUrl>;
}

async function callOnce(call: Call, sending: Sending): Promise<CallOutcome> {
  const service = sending.check(call.context.base);
  if (!service.ok) return { kind: "blocked", why: service.why };
  const { tokens } = sending;
  if (tokens === undefined) return await request(call, service.base, undefined, sending);
  for (let tries = 0;; tries++) {
    const token = await tokens.get();
    if (!token.ok) return { kind: "unreachable", why: token.why };
    const outcome = await request(call, service.base, token.token, sending);
    if (outcome.kind !== "unauthorized") return outcome;
    tokens.reject(token.token);
    if (tries > 0) return { kind: "failed", why: "unauthorized" };
  }
}

async function request(
  call: Call,
  base: string,
  token: string | undefined,
  { send, clock }: Sending,
): Promise<CallOutcome> {
  const { context, method, activity, body } = call;
  const url = addressOf(base, context.conversation, activity);
  if (url === undefined) return { kind: "failed", why: "its address is invalid" };
  try {
    const answer = await send({
      method,
      url,
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
      answerBytesMax: TEAMCHAT_LIMITS.responseBytesMax,
      timeoutMs: TEAMCHAT_LIMITS.fetchSeconds * 1000,
    });
    const retryAfter = answer.header("retry-after") ?? null;
    return parseOutcome({ status: answer.status, retryAfter, body: answer.body }, clock.now());
  } catch (thrown) {
    return thrown instanceof HttpCallFault && thrown.reason === "unmade"
      ? { kind: "unreachable", why: "no connection" }
      : { kind: "ambiguous", why: "no answer" };
  }
}

/**
 * Returns the URL of a conversation's messages, or of one of them; undefined when an id cannot be
 * in a URL.
 */
function addressOf(
  base: string,
  conversation: string,
  activity: string | undefined,
): string | undefined {
  if (!isPathId(conversation) || activity !== undefined && !isPathId(activity)) return undefined;
  const path = `${base}/v3/conversations/${encodeURIComponent(conversation)}/activities`;
  return activity === undefined ? path : `${path}/${encodeURIComponent(activity)}`;
}

/** Caches the check of each address: the list of hosts is fixed for this process. */
function rememberedCheck(hosts: ServiceHosts): Sending["check"] {
  const known = new Map<string, ReturnType<typeof checkServiceUrl>>();
  return (base) => {
    const judged = known.get(base) ?? checkServiceUrl(base, hosts);
    if (known.size >= BASES_KEPT) known.clear();
    known.set(base, judged);
    return judged;
  };
}
