/**
 * `POST /api/messages`: token, then body, then route, then the disk, then 202. Nothing of a turn
 * happens while the platform waits: it gives up after fifteen seconds and delivers again.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { TEAMCHAT_LIMITS } from "core/limits.ts";
import type { Clock, Log, Random } from "core/ports.ts";
import { type Activity, parseActivity } from "core/teamchat/activity.ts";
import {
  decideRoute,
  type RouteDecision,
  type RouteRules,
  type TokenFacts,
} from "core/teamchat/route.ts";
import { deny } from "teamchat/deny.ts";
import { readBounded } from "teamchat/http_body.ts";
import type { ConnectorTokens } from "teamchat/inbound/connector_token.ts";
import { planDelivery, type Planned } from "teamchat/inbound/plan.ts";
import type { Metrics } from "teamchat/metrics.ts";
import type { Delivery, Intake, Stored } from "teamchat/store/intake.ts";

/** What comes of an accepted activity, beyond the disk. */
export interface InboundEvents {
  /** A turn is stored for the agent. */
  onTurn(agent: string): void;
  /** Something of the owner that is no turn, such as the press of a button. */
  onAccepted(activity: Activity, delivery: Delivery, stored: Stored): void;
  /** Answers an invoke of an owner, repeated or not; undefined leaves the usual answer. */
  onInvoke(activity: Activity, delivery: Delivery): string | undefined;
  /** Somebody without an agent wrote; told at most once in a while. */
  onStranger(activity: Activity, route: Extract<RouteDecision, { kind: "ignore" }>): void;
}

/** What the route is made of. */
export interface MessagesParts {
  readonly rules: RouteRules;
  /** Undefined in local mode. */
  readonly tokens: ConnectorTokens | undefined;
  readonly intake: Intake;
  readonly offlineMs: number;
  readonly events: InboundEvents;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Told how long a delivery took until it was stored. */
  readonly onStored: (tookMs: number) => void;
}

/** Answers one delivery; `id` is the request's. */
export type MessagesRoute = (request: Request, id: string) => Promise<Response>;

/** Makes the route. */
export function createMessagesRoute(parts: MessagesParts): MessagesRoute {
  const { tokens, metrics, log, clock } = parts;
  let underWay = 0;

  async function answer(request: Request, id: string): Promise<Response> {
    const begun = clock.monotonic();
    const token = tokens === undefined ? undefined : await judge(tokens, request, { log, id });
    if (token instanceof Response) return token;
    const body = await readBody(request, clock);
    if (body instanceof Response) return body;
    const activity = parseActivity(body);
    if (!activity.ok) {
      log.info("activity malformed", { request_id: id, error: activity.error.message });
      metrics.count("activities", { type: "unknown", result: "malformed" });
      return deny("activity-malformed");
    }
    const taken = await take(activity.value, { token, id }, parts);
    parts.onStored(clock.monotonic() - begun);
    return taken;
  }

  return async (request, id) => {
    if (underWay >= TEAMCHAT_LIMITS.requestsAtOnceMax) {
      return deny("too-many-requests", retryAfter());
    }
    underWay++;
    try {
      return await answer(request, id);
    } catch (thrown) {
      // The platform delivers again; what is broken here may not be by then.
      log.error("delivery failed", { request_id: id, error: errorText(thrown) });
      return deny("storage-failed", retryAfter());
    } finally {
      underWay--;
    }
  };
}

function retryAfter(): Readonly<Record<string, string>> {
  return { "retry-after": String(TEAMCHAT_LIMITS.retryAfterSeconds) };
}

async function judge(
  tokens: ConnectorTokens,
  request: Request,
  { log, id }: { readonly log: Log; readonly id: string },
): Promise<TokenFacts | Response> {
  const judged = await tokens.judge(request.headers.get("authorization"));
  if (judged.kind === "verified") return judged.facts;
  if (judged.kind === "unavailable") return deny("keys-unavailable", retryAfter());
  log.warning("token refused", { request_id: id, reason: judged.why });
  return deny("token-refused", { "www-authenticate": "Bearer" });
}

async function readBody(request: Request, clock: Clock): Promise<string | Response> {
  const { headers } = request;
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  const encoding = (headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  if (type !== "application/json" || encoding !== "identity") return deny("body-not-json");
  const stated = Number(headers.get("content-length") ?? 0);
  if (!(stated <= TEAMCHAT_LIMITS.bodyBytesMax)) return deny("body-too-large");
  const late = Promise.withResolvers<"late">();
  const stop = clock.after(TEAMCHAT_LIMITS.bodySeconds * 1000, () => late.resolve("late"));
  const reading = readBounded(request.body, TEAMCHAT_LIMITS.bodyBytesMax);
  // A body that is cut or is no text ends here and nowhere else.
  const text = await Promise.race([reading.catch(() => "\u0000"), late.promise]);
  stop();
  if (text === "late") return deny("body-late", { connection: "close" });
  return text ?? deny("body-too-large");
}

async function take(
  activity: Activity,
  by: { readonly token: TokenFacts | undefined; readonly id: string },
  parts: MessagesParts,
): Promise<Response> {
  const { metrics, log, events } = parts;
  const count = (result: string) =>
    metrics.count("activities", { type: countedType(activity.type), result });
  const route = decideRoute(activity, parts.rules, by.token);
  if (route.kind === "refuse") {
    count(route.reason);
    log.warning("activity refused", { request_id: by.id, reason: route.reason });
    return deny("activity-refused");
  }
  if (route.kind === "ignore") {
    count(route.reason);
    log.info("activity ignored", { request_id: by.id, type: activity.type, reason: route.reason });
    if (route.reason === "owner-unknown") events.onStranger(activity, route);
    return activity.type === "invoke" ? deny("invoke-unknown") : accepted();
  }
  const planned = planDelivery(activity, route, {
    now: parts.clock.now(),
    offlineMs: parts.offlineMs,
    turnId: parts.random.uuid(),
    appId: parts.rules.appId,
  });
  const stored = await parts.intake.store(planned.delivery);
  if (!stored.ok) {
    count(stored.error.code);
    log.error("activity not stored", { request_id: by.id, code: stored.error.code });
    const code = stored.error.code === "turn-queue-full" ? "turn-queue-full" : "storage-failed";
    return deny(code, retryAfter());
  }
  count(stored.value.kind === "duplicate" ? "duplicate" : planned.what);
  if (stored.value.kind === "new") {
    if (planned.delivery.turn !== undefined) {
      log.info("turn queued", {
        ...{ request_id: by.id, agent: route.agent, turn: planned.delivery.turn.turnId },
      });
      events.onTurn(route.agent);
    }
    events.onAccepted(activity, planned.delivery, stored.value);
  }
  // A repetition too: the first may have come to nobody, and the agent settles which press counts.
  const said = planned.invoke === undefined
    ? undefined
    : events.onInvoke(activity, planned.delivery);
  return respond(planned, stored.value, said);
}

function respond(planned: Planned, stored: Stored, said: string | undefined): Response {
  if (planned.invoke === undefined) return accepted();
  if (planned.invoke === "unknown") return deny("invoke-unknown");
  const kept = stored.kind === "duplicate" ? stored.answer : undefined;
  return new Response(said ?? kept ?? planned.invoke, {
    headers: { "content-type": "application/json" },
  });
}

function accepted(): Response {
  return new Response(null, { status: 202 });
}

const COUNTED_TYPES: ReadonlySet<string> = new Set([
  "message",
  "invoke",
  "conversationUpdate",
  "installationUpdate",
  "messageReaction",
  "messageUpdate",
  "messageDelete",
  "typing",
  "event",
  "endOfConversation",
]);

/** Types that count by name; a label may not be whatever a peer makes up. */
function countedType(type: string): string {
  return COUNTED_TYPES.has(type) ? type : "other";
}
