/**
 * Rows of the verb table: questions of programs to a person. Data only.
 *
 * @module
 */

import type { Argument, Verb } from "core/verbs/verb.ts";

const ID: Argument = { name: "id", summary: "Id of a question, or its beginning" };

/** Verbs whose first word is `questions`. */
export const QUESTION_VERBS: readonly Verb[] = [
  {
    path: ["questions", "answer"],
    args: [ID],
    options: [
      {
        name: "set",
        value: "name=value",
        repeat: true,
        summary: "Value of a field; without it, asks on the terminal; repeatable",
      },
      { name: "accept", summary: "Accept a question without fields" },
    ],
    scope: "operator",
    runs: "root",
    mutates: true,
    follows: true,
    summary: "Answer a question of an agent's program; never one of the caller's own",
    example: "fleetctl questions answer 3f2a --set colour=blue",
  },
  {
    path: ["questions", "decline"],
    args: [ID],
    options: [],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Decline to answer a question",
    example: "fleetctl questions decline 3f2a",
  },
  {
    path: ["questions", "list"],
    args: [{ name: "agent", optional: true, summary: 'Name of an agent, or "self"' }],
    options: [{ name: "all", summary: "Include closed ones" }],
    scope: "self_or_host",
    target: { from: "argument", name: "agent", absent: "agent_or_host" },
    runs: "root",
    mutates: false,
    summary: "List the questions that wait for a person",
    example: "fleetctl questions list",
  },
  {
    path: ["questions", "show"],
    args: [ID],
    options: [],
    scope: "agent",
    runs: "root",
    mutates: false,
    summary: "Show one question with its fields and options",
    example: "fleetctl questions show 3f2a",
  },
];
