/**
 * Rows of the verb table: conversations of an agent on its host. Data only.
 *
 * @module
 */

import type { Argument, Verb } from "core/verbs/verb.ts";

const TARGET: Argument = { name: "agent", summary: 'Name of an agent, or "self"' };

/** Verbs whose first word is `conversations`. */
export const CONVERSATION_VERBS: readonly Verb[] = [
  {
    path: ["conversations", "list"],
    args: [TARGET],
    options: [],
    scope: "self",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: false,
    summary: "List the conversations of an agent on this host, with their worktrees",
    example: "fleetctl conversations list ada",
  },
  {
    path: ["conversations", "remove"],
    args: [TARGET, { name: "conversation", summary: "Name of a conversation" }],
    options: [],
    scope: "self",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: true,
    summary: "Remove a conversation and its worktree; a snapshot keeps the files",
    example: "fleetctl conversations remove ada trip",
  },
];
