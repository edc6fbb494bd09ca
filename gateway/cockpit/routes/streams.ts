/**
 * Streams and pages of transcripts: `/events` for several topics on one connection, and
 * `/api/transcript` for one agent, as a stream or as pages of JSON.
 *
 * @module
 */

import * as z from "zod";
import { decideGate } from "core/access/gates.ts";
import { isUnchanged, type Owner } from "core/access/viewer.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { STREAM_LIMITS } from "gateway/limits.ts";
import { err, ok, type Result } from "core/result.ts";
import { canSee, describeAgents } from "gateway/cockpit/agent_cards.ts";
import { type Cursor, parseCursor } from "gateway/cockpit/cursor.ts";
import { denial } from "gateway/cockpit/deny.ts";
import { openEventStream } from "gateway/cockpit/event_stream.ts";
import type { StreamWish } from "gateway/cockpit/stream_client.ts";
import { describeHosts } from "gateway/cockpit/routes/hosts.ts";
import { stream, STREAM_TYPE } from "gateway/cockpit/reply.ts";
import { type Route, route, type RouteContext } from "gateway/cockpit/route.ts";
import { readPage, transcriptPage, transcriptQuery } from "gateway/cockpit/transcript_page.ts";

const cursorText = z.string().refine(
  (text) => parseCursor(text) !== undefined,
  "must be the id of an event",
);
const resumeHeaders = z.object({ "last-event-id": z.string().max(128).optional() });
const TOPIC = /^(?:agents|hosts|transcript:[a-z][a-z0-9-]{0,30})$/;
const topicsText = z.string().max(4096).refine(
  (text) => {
    const topics = text.split(",");
    return topics.length <= STREAM_LIMITS.topicsMax && topics.every((topic) => TOPIC.test(topic));
  },
  `must be at most ${STREAM_LIMITS.topicsMax} of "agents", "hosts" and "transcript:<agent>"`,
);
const SSE = { status: 200, description: "Server-sent events", mediaType: STREAM_TYPE };

/** Routes for streams and transcripts. */
export const STREAM_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/events",
    summary: "One stream for several topics",
    gate: "allowAgent",
    agents: ({ query }, viewer) => {
      const named = agentsOf(query.topics, viewer);
      return named.length > 0 ? named : [viewer.agent];
    },
    query: z.object({ topics: topicsText.optional(), after: cursorText.optional() }),
    headers: resumeHeaders,
    answers: [SSE],
    handle: (context, { query, headers }) => {
      if (context.viewer.kind !== "owner") return Promise.resolve(err(unknownViewer()));
      const topics = query.topics?.split(",") ?? ["agents"];
      if (topics.includes("hosts")) {
        const { viewer } = context;
        const may = decideGate("fleetView", { viewer, isLocalProgram: false, agents: [] });
        if (!may.allow) return Promise.resolve(err(denial(may.code)));
      }
      return Promise.resolve(openStream(context, context.viewer, {
        agents: agentsOf(query.topics, context.viewer),
        from: cursorOf(headers["last-event-id"], query.after),
        hasPresence: topics.includes("agents"),
        hasHosts: topics.includes("hosts"),
      }));
    },
  }),
  route({
    method: "GET",
    path: "/api/transcript",
    summary: "The transcript of one agent, as a stream, or as JSON pages",
    gate: "allowAgent",
    agents: ({ query }) => [query.agent],
    query: z.object({
      agent: z.string().min(1).max(64),
      after: cursorText.optional(),
      before: cursorText.optional(),
      ...transcriptQuery,
    }),
    headers: resumeHeaders.extend({ accept: z.string().max(1024).optional() }),
    answers: [
      SSE,
      {
        status: 200,
        description: "One page",
        mediaType: "application/json",
        schema: transcriptPage,
      },
    ],
    handle: async (context, { query, headers }) => {
      if (context.viewer.kind !== "owner") return err(unknownViewer());
      if (wantsJson(headers.accept)) return ok(await readPage(context.deps.store.events, query));
      const from = cursorOf(headers["last-event-id"], query.after) ??
        await startOfTail(context, query);
      return openStream(context, context.viewer, {
        agents: [query.agent],
        from,
        hasPresence: false,
        hasHosts: false,
      });
    },
  }),
];

function openStream(
  { deps }: RouteContext,
  viewer: Owner,
  of: {
    readonly agents: readonly string[];
    readonly from: Cursor | undefined;
    readonly hasPresence: boolean;
    readonly hasHosts: boolean;
  },
): Result<Response> {
  // The roster may have changed since the gate, and `endChanged` ends only streams already open.
  if (!isUnchanged(viewer, deps.roster.current())) return err(denial("viewer-denied"));
  const presence: StreamWish["presence"] = of.hasPresence
    ? {
      isVisible: (agent) => canSee(viewer, agent),
      describe: (agents) => describeAgents(viewer, deps, agents),
    }
    : undefined;
  const hosts: StreamWish["hosts"] = of.hasHosts
    ? {
      all: () => describeHosts(deps),
      some: async (changed) =>
        (await deps.hosts.list()).hosts.filter(({ host }) => changed.has(host)),
    }
    : undefined;
  const body = openEventStream({
    viewer,
    agents: of.agents,
    from: of.from,
    presence,
    ...defined({ hosts }),
  }, deps);
  return body === undefined ? err(tooManyStreams()) : ok(stream(body));
}

/** A stream without a cursor begins with the newest page. */
async function startOfTail(
  { deps }: RouteContext,
  query: { readonly agent: string; readonly limit: number },
): Promise<Cursor> {
  const { events } = deps.store;
  const head = await events.head();
  const { events: tail } = await events.page({
    agent: query.agent,
    before: undefined,
    limit: query.limit,
  });
  return { epoch: events.epoch, seq: (tail[0]?.seq ?? head + 1) - 1 };
}

function agentsOf(topics: string | undefined, viewer: Owner): readonly string[] {
  if (topics === undefined) return [viewer.agent];
  const prefix = "transcript:";
  const named = topics.split(",").filter((topic) => topic.startsWith(prefix));
  return [...new Set(named.map((topic) => topic.slice(prefix.length)))];
}

/** The browser's `Last-Event-ID` header is newer than the cursor in the URL that it opened. */
function cursorOf(header: string | undefined, after: string | undefined): Cursor | undefined {
  return parseCursor(header ?? "") ?? (after === undefined ? undefined : parseCursor(after));
}

function wantsJson(accept: string | undefined): boolean {
  const types = (accept ?? "").toLowerCase();
  return types.includes("application/json") && !types.includes(STREAM_TYPE);
}

function unknownViewer() {
  return refusal("viewer-denied", "Cannot open the stream: not signed in", {
    kind: "denied",
  });
}

function tooManyStreams() {
  return refusal(
    "too-many-streams",
    `Cannot open the stream: ${STREAM_LIMITS.streamsPerViewerMax} streams are open, ` +
      "must be fewer",
  );
}
