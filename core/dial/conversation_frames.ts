/**
 * Requests and answers of the local socket about the conversations of an agent.
 *
 * @module
 */

import * as z from "zod";
import { conversationName } from "core/dial/conversation.ts";

/** Maximum number of conversations in one answer. */
const CONVERSATIONS_MAX = 2_100;
const path = z.string().max(4_096);

/** A conversation in the form that people see. */
const conversationView = z.object({
  /** `default` for the default one. */
  conversation: conversationName,
  /** When it was last used, in milliseconds; absent when its program has no session of it. */
  used: z.number().optional(),
  /** Folder and branch of its worktree; absent when it works in the workspace. */
  folder: path.optional(),
  branch: path.optional(),
  state: z.enum(["creating", "created", "ready", "removing"]).optional(),
});
/** Parsed view of a conversation. */
export type ConversationView = z.infer<typeof conversationView>;

/** Requests: list the conversations, and remove one. */
export const CONVERSATION_REQUESTS = [
  z.object({ type: z.literal("conversations"), agent: z.string().min(1).max(64) }),
  /** From root, or from the owner of a root other than `/`; never from the agent itself. */
  z.object({
    type: z.literal("conversation_remove"),
    agent: z.string().min(1).max(64),
    conversation: conversationName,
  }),
] as const;

/** Their answers. */
export const CONVERSATION_ANSWERS = [
  z.object({
    type: z.literal("conversations_result"),
    conversations: z.array(conversationView).max(CONVERSATIONS_MAX),
  }),
  z.object({
    type: z.literal("conversation_removed"),
    conversation: conversationName,
    /** Where its worktree was; absent when it had none. */
    workspace: path.optional(),
    folder: path.optional(),
    branch: path.optional(),
    /** Ref of the snapshot; absent when there was nothing to keep. */
    snapshot: z.string().regex(/^refs\/fleetctl\/snapshots\/[a-z0-9-]{1,64}\/\d{8}T\d{9}Z$/)
      .optional(),
  }),
] as const;
