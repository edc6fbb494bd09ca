/**
 * `POST /api/messages`: token, then body, then route, then the disk, then 202. No work on a turn
 * is done before the response: the platform gives up after fifteen seconds and delivers again.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { errorText } from "core/errors.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { BodyBytes, PlainAnswer, PlainRequest } from "core/http1/plain_http.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import { type Activity, parseActivity } from "core/teamchat/activity.ts";
import {
  decideRoute,
  type RouteDecision,
  type RouteRules,
  type TokenFacts,
  type TokenState,
} from "core/teamchat/route.ts";
import { strictUtf8 } from "core/text/utf8.ts";
import { timeUuid } from "teamchat/time_uuid.ts";
import { deny } from "teamchat/deny.ts";
import type { ConnectorTokens } from "teamchat/inbound/connector_token.ts";
import { createOwnerSlots, slotOwner } from "teamchat/inbound/owner_slots.ts";
import { planDelivery, type Planned } from "teamchat/inbound/plan.ts";
import type { Metrics } from "teamchat/metrics.ts";
import type { Delivery, Intake, Stored } from "teamchat/store/intake.ts";

/** Callbacks for an accepted activity. */
export interface InboundEvents {
  /** Called when a turn is stored for the agent. */
  onTurn(agent: string): void;
  /** Called once an owner's new activity is stored; for a turn, after `onTurn`. */
  onAccepted(activity: Activity, delivery: Delivery, stored: Stored): void;
  /** Answers an owner's invoke, repeated or not; undefined keeps the default answer. */
  onInvoke(activity: Activity, delivery: Delivery): string | undefined;
  /**
   * Called when a person without an agent wrote; that person gets a notice, at most once an hour.
   */
  onStranger(activity: Activity, route: Extract<RouteDecision, { kind: "ignore" }>): void;
}

/** An activity as received, with the circumstances. */
export interface Arrival {
  readonly token: TokenState;
  /** Id of the request, for the log. */
  readonly id: string;
  /** The text of the activity. */
  readonly body: string;
  /** When the receiver accepted it, and its key; undefined where one process does both. */
  readonly received?: { readonly at: number; readonly key: string };
}

/** Processes one activity whose token is valid, and returns the response for the platform. */
export type TakeActivity = (activity: Activity, arrival: Arrival) => Promise<PlainAnswer>;

/** Dependencies of the route. */
export interface MessagesDeps {
  /** Undefined in local mode. */
  readonly tokens: ConnectorTokens | undefined;
  readonly take: TakeActivity;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the time from a delivery's arrival until it was stored. */
  readonly onStored: (tookMs: number) => void;
}

/** Dependencies for processing an activity. */
export interface TakeDeps {
  readonly rules: RouteRules;
  readonly intake: Intake;
  readonly offlineMs: number;
  readonly events: InboundEvents;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Answers one delivery; `id` is the request's id. */
export type MessagesRoute = (request: PlainRequest, id: string) => Promise<PlainAnswer>;

/** Creates the route. */
export function createMessagesRoute(deps: MessagesDeps): MessagesRoute {
  const { tokens, metrics, log, clock } = deps;
  const places = createOwnerSlots();
  let underWay = 0;

  async function answer(request: PlainRequest, id: string): Promise<PlainAnswer> {
    const begun = clock.monotonic();
    const token = tokens === undefined ? undefined : await judge(tokens, request, { log, id });
    if (token !== undefined && "status" in token) return token;
    const body = await readBody(request, clock);
    if (typeof body !== "string") return body;
    const activity = parseActivity(body);
    if (!activity.ok) {
      log.info("activity malformed", { request_id: id, error: activity.error.message });
      metrics.count("activities", { type: "unknown", result: "malformed" });
      return deny("activity-malformed");
    }
    const owner = slotOwner(activity.value);
    if (!places.enter(owner)) {
      metrics.count("activities", { type: countedType(activity.value.type), result: "owner-busy" });
      return deny("too-many-requests", retryAfter());
    }
    try {
      const answer = await deps.take(activity.value, { token, id, body });
      deps.onStored(clock.monotonic() - begun);
      return answer;
    } finally {
      places.leave(owner);
    }
  }

  return async (request, id) => {
    if (underWay >= TEAMCHAT_LIMITS.concurrentRequestsMax) {
      return deny("too-many-requests", retryAfter());
    }
    underWay++;
    try {
      return await answer(request, id);
    } catch (thrown) {
      // The platform delivers again; the error may be temporary.
      log.error("delivery failed", { request_id: id, error: errorText(thrown) });
      return deny("storage-failed", retryAfter());
    } finally {
      underWay--;
    }
  };
}

/** Header with the delay before a refused delivery should be repeated. */
export function retryAfter(): PlainAnswer["headers"] {
  return [["retry-after", String(TEAMCHAT_LIMITS.retryAfterSeconds)]];
}

async function judge(
  tokens: ConnectorTokens,
  request: PlainRequest,
  { log, id }: { readonly log: Log; readonly id: string },
): Promise<TokenFacts | PlainAnswer> {
  const judging = tokens.judge(request.headers.get("authorization"));
  const judged = judging instanceof Promise ? await judging : judging;
  if (judged.kind === "verified") return judged.facts;
  if (judged.kind === "unavailable") return deny("keys-unavailable", retryAfter());
  log.warning("token refused", { request_id: id, reason: judged.why });
  return deny("token-refused", [["www-authenticate", "Bearer"]]);
}

const decoder = strictUtf8();

async function readBody(request: PlainRequest, clock: Clock): Promise<string | PlainAnswer> {
  if (!isJson(request.headers)) return deny("body-not-json");
  const stated = Number(request.headers.get("content-length") ?? 0);
  if (!(stated <= TEAMCHAT_LIMITS.bodyBytesMax)) return deny("body-too-large");
  const read = request.body(TEAMCHAT_LIMITS.bodyBytesMax);
  const bytes = read instanceof Promise ? await inTime(read, clock) : read;
  if (bytes === "late") return deny("body-late", [["connection", "close"]]);
  if (bytes === "too-long") return deny("body-too-large");
  try {
    return bytes === "cut" ? CUT : decoder.decode(bytes);
  } catch {
    return CUT;
  }
}

/** Represents a body that was cut off or is not text; it does not parse as an activity. */
const CUT = "\u0000";

function isJson(headers: PlainRequest["headers"]): boolean {
  const type = headers.get("content-type");
  const isType = type === JSON_TYPE || type?.split(";")[0]?.trim().toLowerCase() === JSON_TYPE;
  const encoding = headers.get("content-encoding");
  return isType && (encoding === null || encoding.trim().toLowerCase() === "identity");
}
const JSON_TYPE = "application/json";

/** Waits for the rest of the body, with a timeout. */
async function inTime(
  reading: Promise<BodyBytes>,
  clock: Clock,
): Promise<BodyBytes | "late" | "cut"> {
  const late = Promise.withResolvers<"late">();
  const stop = clock.after(TEAMCHAT_LIMITS.bodySeconds * 1000, () => late.resolve("late"));
  const read = await Promise.race([reading.catch(() => "cut" as const), late.promise]);
  stop();
  return read;
}

/** Routes, stores and answers, in the process that stores turns. */
export async function takeActivity(
  activity: Activity,
  by: Arrival,
  deps: TakeDeps,
): Promise<PlainAnswer> {
  const { metrics, log, events } = deps;
  const count = (result: string) =>
    metrics.count("activities", { type: countedType(activity.type), result });
  const route = decideRoute(activity, deps.rules, by.token);
  if (route.kind !== "route") {
    return declineRoute(activity, route, {
      metrics,
      log,
      id: by.id,
      onStranger: (ignored) => events.onStranger(activity, ignored),
    });
  }
  const now = deps.clock.now();
  const planned = planDelivery(activity, route, {
    now: by.received?.at ?? now,
    ...defined({ key: by.received?.key }),
    offlineMs: deps.offlineMs,
    turnId: timeUuid(deps.random.uuid(), now),
    appId: deps.rules.appId,
  });
  const isCurrent = () => deps.rules.agents.get(route.owner) === route.agent;
  const stored = await deps.intake.store(planned.delivery, isCurrent);
  if (!stored.ok) {
    count(stored.error.code);
    log.error("activity not stored", { request_id: by.id, code: stored.error.code });
    const code = stored.error.code === "turn-queue-full" ? "turn-queue-full" : "storage-failed";
    return deny(code, retryAfter());
  }
  // Owners changed while it waited for the disk: route it by the current ones.
  if (stored.value.kind === "overtaken") return await takeActivity(activity, by, deps);
  count(stored.value.kind === "duplicate" ? "duplicate" : planned.what);
  if (stored.value.kind === "new") {
    if (planned.delivery.turn !== undefined) {
      log.info("turn queued", {
        request_id: by.id,
        agent: route.agent,
        turn: planned.delivery.turn.turnId,
      });
      events.onTurn(route.agent);
    }
    events.onAccepted(activity, planned.delivery, stored.value);
  }
  // Also for a repeated press: the first may not have reached the agent, which decides which one
  // counts.
  const replied = planned.invoke === undefined
    ? undefined
    : events.onInvoke(activity, planned.delivery);
  return respond(planned, stored.value, replied);
}

/** Answers and counts an activity that is not stored. */
export function declineRoute(
  activity: Activity,
  route: Exclude<RouteDecision, { readonly kind: "route" }>,
  deps: {
    readonly metrics: Metrics;
    readonly log: Log;
    readonly id: string;
    readonly onStranger: (route: Extract<RouteDecision, { kind: "ignore" }>) => void;
  },
): PlainAnswer {
  const { type } = activity;
  const { reason } = route;
  deps.metrics.count("activities", { type: countedType(type), result: reason });
  if (route.kind === "refuse") {
    deps.log.warning("activity refused", { request_id: deps.id, reason });
    return deny("activity-refused");
  }
  deps.log.info("activity ignored", { request_id: deps.id, type, reason });
  if (reason === "owner-unknown") deps.onStranger(route);
  return type === "invoke" ? deny("invoke-unknown") : accepted();
}

function respond(planned: Planned, stored: Stored, replied: string | undefined): PlainAnswer {
  if (planned.invoke === undefined) return accepted();
  if (planned.invoke === "unknown") return deny("invoke-unknown");
  const kept = stored.kind === "duplicate" ? stored.answer : undefined;
  return {
    status: 200,
    headers: [["content-type", JSON_TYPE]],
    body: replied ?? kept ?? planned.invoke,
  };
}

/** The response for everything that needs no answer. */
export function accepted(): PlainAnswer {
  return { status: 202, headers: [], body: null };
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

/** Types with a separate count; arbitrary values of a peer must not become labels. */
export function countedType(type: string): string {
  return COUNTED_TYPES.has(type) ? type : "other";
}
