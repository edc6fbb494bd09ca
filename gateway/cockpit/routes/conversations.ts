/**
 * Conversations of an agent: list, begin, rename, archive. The default conversation always exists
 * and cannot be changed. An archived one is only left out of the list; a turn brings it back.
 *
 * @module
 */

import * as z from "zod";
import {
  conversationName,
  DEFAULT_CONVERSATION,
  namedConversation,
} from "core/dial/conversation.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import type { CockpitDeps } from "gateway/cockpit/deps.ts";
import { json } from "gateway/cockpit/reply.ts";
import { type Route, route } from "gateway/cockpit/route.ts";
import { CONVERSATION_LIMITS } from "gateway/limits.ts";
import { tooManyConversations } from "gateway/transcript/conversations.ts";
import type { Conversation } from "gateway/transcript/event_log.ts";

const agent = z.string().min(1).max(64);
const name = z.string().trim().min(1).max(CONVERSATION_LIMITS.nameLengthMax);
const conversation = z.object({
  conversation: z.string(),
  name: z.string(),
  /** Milliseconds since the epoch; null for the default conversation. */
  created: z.number().nullable(),
  is_archived: z.boolean(),
});
const DEFAULT = {
  conversation: DEFAULT_CONVERSATION,
  name: "Default",
  created: null,
  is_archived: false,
};

/** Routes about conversations. */
export const CONVERSATION_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/api/conversations",
    summary: "The conversations of an agent, the default one first, then newest first",
    gate: "allowAgent",
    agents: ({ query }) => [query.agent],
    query: z.object({
      agent,
      archived: z.enum(["true", "false"]).default("false"),
      before: conversationName.optional(),
      limit: z.coerce.number().int().min(1).max(CONVERSATION_LIMITS.pageMax).default(
        CONVERSATION_LIMITS.pageDefault,
      ),
    }),
    answers: [{
      status: 200,
      description: "One page",
      mediaType: "application/json",
      schema: z.object({
        conversations: z.array(conversation),
        /** Pass as `before` to read the older page; null on the last one. */
        before: z.string().nullable(),
      }),
    }],
    handle: ({ deps }, { query }) => {
      const { before, limit, archived } = query;
      const page = deps.store.conversations.list({
        agent: query.agent,
        before,
        limit,
        hasArchived: archived === "true",
      });
      const conversations = page.conversations.map(view);
      return Promise.resolve(ok(json({
        conversations: before === undefined ? [DEFAULT, ...conversations] : conversations,
        before: page.hasMore ? page.conversations.at(-1)?.conversation ?? null : null,
      })));
    },
  }),
  route({
    method: "POST",
    path: "/api/conversations",
    summary: "Begin a conversation",
    gate: "allowAgent",
    agents: ({ body }) => [body.agent],
    body: z.object({ agent, conversation: conversationName, name: name.optional() }),
    answers: [{
      status: 201,
      description: "The conversation; its first turn opens it at the agent",
      mediaType: "application/json",
      schema: conversation,
    }],
    handle: ({ deps }, { body }) => {
      const fault = conversationFault(deps, body.agent, body.conversation);
      if (fault !== undefined) return Promise.resolve(err(fault));
      if (body.conversation === DEFAULT_CONVERSATION) return Promise.resolve(err(isDefault()));
      const begun = deps.store.conversations.begin({
        agent: body.agent,
        conversation: body.conversation,
        name: body.name ?? body.conversation,
        created: deps.clock.now(),
        isArchived: false,
      });
      return Promise.resolve(answer(begun, 201));
    },
  }),
  route({
    method: "PATCH",
    path: "/api/conversations",
    summary: "Rename or archive a conversation",
    gate: "allowAgent",
    agents: ({ body }) => [body.agent],
    body: z.object({
      agent,
      conversation: conversationName,
      name: name.optional(),
      is_archived: z.boolean().optional(),
    }),
    answers: [{
      status: 200,
      description: "The conversation",
      mediaType: "application/json",
      schema: conversation,
    }],
    handle: ({ deps }, { body }) => {
      if (body.conversation === DEFAULT_CONVERSATION) return Promise.resolve(err(isDefault()));
      const changed = deps.store.conversations.change(body.agent, body.conversation, {
        ...defined({ name: body.name, isArchived: body.is_archived }),
      });
      return Promise.resolve(answer(changed, 200));
    },
  }),
];

/**
 * Returns why a turn cannot be queued in a conversation; undefined when it can. While the agent is
 * offline, the capabilities of its client are unknown and not checked.
 */
export function conversationFault(
  { registry, store }: Pick<CockpitDeps, "registry" | "store">,
  agent: string,
  conversation: string | undefined,
) {
  const named = namedConversation(conversation);
  if (named === undefined) return undefined;
  const session = registry.get(agent);
  if (session?.capabilities?.includes("conversations") === false) return oneOnly(agent);
  const { conversations } = store;
  return conversations.find(agent, named) === undefined && !conversations.hasRoom(agent)
    ? tooManyConversations(agent)
    : undefined;
}

function view({ conversation, name, created, isArchived }: Conversation) {
  return { conversation, name, created, is_archived: isArchived };
}

function answer(changed: Result<Conversation>, status: number): Result<Response> {
  return changed.ok ? ok(json(view(changed.value), status)) : changed;
}

function oneOnly(agent: string) {
  return refusal(
    "conversations-unsupported",
    `Cannot use the conversation: the program that connects agent "${agent}" is of an older ` +
      "version and has only the default one, must be restarted with this version",
    { hints: [`fleetctl agents restart ${agent}`] },
  );
}

function isDefault() {
  return refusal(
    "conversation-default",
    "Cannot change the default conversation: it always exists under this name, must be another one",
  );
}
