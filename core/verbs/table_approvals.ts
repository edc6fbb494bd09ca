/**
 * Rows of the verb table: calls that wait for a human. Data only.
 *
 * @module
 */

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
    args: [{ name: "agent", optional: true, summary: 'Name of an agent, or "self"' }],
    options: [{ name: "all", summary: "Include closed ones" }],
    scope: "self_or_host",
    target: { from: "argument", name: "agent", absent: "agent_or_host" },
    runs: "root",
    mutates: false,
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
