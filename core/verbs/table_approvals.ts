/**
 * Rows of the verb table: calls that wait for a human. Data only.
 *
 * @module
 */

import { LISTS_OF_AGENTS } from "core/verbs/list_verb.ts";
import type { Argument, Option, Verb } from "core/verbs/verb.ts";

const ID: Argument = { name: "id", summary: "Id of an approval, or its beginning" };
const REASON: Option = {
  name: "reason",
  value: "text",
  summary: "Why; a denial's reason reaches the model",
};

/** Verbs whose first word is `approvals`. */
export const APPROVAL_VERBS: readonly Verb[] = [
  {
    path: ["approvals", "approve"],
    args: [ID],
    options: [REASON],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Approve one call, once; never one of the caller's own",
    example: "fleetctl approvals approve 3f2a",
  },
  {
    path: ["approvals", "deny"],
    args: [ID],
    options: [REASON],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Deny one call",
    example: `fleetctl approvals deny 3f2a --reason "not on a Friday"`,
  },
  {
    path: ["approvals", "list"],
    ...LISTS_OF_AGENTS,
    options: [{ name: "all", summary: "Include closed ones" }],
    summary: "List the calls that wait for a human",
    example: "fleetctl approvals list",
  },
  {
    path: ["approvals", "show"],
    args: [ID],
    options: [],
    scope: "agent",
    runs: "root",
    mutates: false,
    summary: "Show one call with all its arguments",
    example: "fleetctl approvals show 3f2a",
  },
];
