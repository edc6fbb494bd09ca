/**
 * Conversations of the agent as this host knows them: sessions of its program, and worktrees. They
 * are listed and removed over the local socket. The gateway keeps the transcripts.
 *
 * @module
 */

import {
  conversationName,
  DEFAULT_CONVERSATION,
  namedConversation,
} from "core/dial/conversation.ts";
import type { ConversationView } from "core/dial/conversation_frames.ts";
import type { LocalAnswer, LocalRequest } from "core/dial/local_frames.ts";
import { defined } from "core/defined.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import { type PeerRights, wrongAgent } from "units/dial/local_approvals.ts";
import type { SupervisedRuntime } from "units/dial/runtime.ts";
import type { DialStore } from "units/dial/store.ts";
import { sessionFileOf, type Worktrees } from "units/dial/worktrees/worktrees.ts";

type Removed = Extract<LocalAnswer, { type: "conversation_removed" }>;
type ConversationRequest = Extract<
  LocalRequest,
  { type: "conversations" | "conversation_remove" }
>;

/** The conversations of one agent. */
export interface Conversations {
  /** The default conversation, then the others by name. */
  list(): Promise<readonly ConversationView[]>;
  /** Ends its program, removes its worktree after a snapshot, and forgets its session. */
  remove(conversation: string): Promise<Result<Removed>>;
}

/** What they need. */
export interface ConversationDeps {
  readonly config: { readonly agent: string };
  readonly options: {
    /** Absent when all conversations share one folder. */
    readonly worktrees?: Pick<Worktrees, "get" | "names" | "remove">;
  };
  readonly files: Pick<Files, "list" | "stat" | "remove">;
  /** Folder of the dial unit's state. */
  readonly folder: string;
  readonly runtime: Pick<SupervisedRuntime, "leave">;
  readonly connections: readonly { readonly store: Pick<DialStore, "isOpen"> }[];
}

/** Creates the view of an agent's conversations. */
export function createConversations(deps: ConversationDeps): Conversations {
  const { files, folder: stateDir, runtime, connections } = deps;
  const { config: { agent }, options: { worktrees } } = deps;
  const usedOf = async (file: string) => (await files.stat(file))?.mtimeMs;

  async function named(): Promise<readonly string[]> {
    const folder = `${stateDir}/sessions`;
    const entries = await files.stat(folder) === undefined ? [] : await files.list(folder);
    const sessions = entries.filter((name) => name.endsWith(".json"))
      .map((name) => name.slice(0, -".json".length));
    const all = new Set([...sessions, ...worktrees?.names() ?? []]);
    return [...all].filter((name) => conversationName.safeParse(name).success).sort();
  }

  return {
    list: async () => {
      const views: ConversationView[] = [{
        conversation: DEFAULT_CONVERSATION,
        ...defined({ used: await usedOf(`${stateDir}/session.json`) }),
      }];
      for (const conversation of await named()) {
        const { folder, branch, state } = worktrees?.get(conversation) ?? {};
        const used = await usedOf(sessionFileOf(stateDir, conversation));
        views.push({ conversation, ...defined({ used, folder, branch, state }) });
      }
      return views;
    },
    remove: async (given) => {
      const conversation = namedConversation(given);
      if (conversation === undefined) return err(isDefault());
      if (!(await named()).includes(conversation)) return err(unknown(agent, conversation));
      if (connections.some(({ store }) => store.isOpen(conversation))) {
        return err(busy(conversation));
      }
      await runtime.leave(conversation);
      const removed = worktrees === undefined
        ? ok(undefined)
        : await worktrees.remove(conversation);
      if (!removed.ok) return removed;
      await files.remove(sessionFileOf(stateDir, conversation));
      const { record, snapshot } = removed.value ?? {};
      const { workspace, folder, branch } = record ?? {};
      return ok({
        type: "conversation_removed",
        conversation,
        ...defined({ workspace, folder, branch, snapshot }),
      });
    },
  };
}

/** Answers a request of the local socket. */
export async function answerConversations(
  request: ConversationRequest,
  conversations: Conversations,
  rights: PeerRights,
): Promise<LocalAnswer> {
  if (request.agent !== rights.agent) return errorLine(wrongAgent(request.agent, rights.agent));
  if (request.type === "conversations") {
    return { type: "conversations_result", conversations: [...await conversations.list()] };
  }
  if (!rights.mayDecide) return errorLine(notForAgent());
  const removed = await conversations.remove(request.conversation);
  return removed.ok ? removed.value : errorLine(removed.error);
}

function errorLine({ code, message, details, hints }: Refusal): LocalAnswer {
  const more = [...details, ...hints.map((hint) => `hint: ${hint}`)];
  return { type: "error", code, message: [message, ...more].join("; ") };
}

function notForAgent() {
  return refusal(
    "conversation-not-yours",
    "Cannot remove the conversation: the caller is the agent itself, must be root " +
      "(fleetctl conversations remove)",
    { kind: "denied" },
  );
}

function isDefault() {
  return refusal(
    "conversation-default",
    "Cannot remove the default conversation: it always exists, must be another one",
  );
}

function unknown(agent: string, conversation: string) {
  return refusal(
    "conversation-unknown",
    `Cannot remove conversation "${conversation}": agent "${agent}" has no such ` +
      "conversation on this host",
    { hints: [`fleetctl conversations list ${agent}`] },
  );
}

function busy(conversation: string) {
  return refusal(
    "conversation-busy",
    `Cannot remove conversation "${conversation}": a turn of it runs or waits, must end first`,
  );
}
