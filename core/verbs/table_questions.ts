/**
 * Rows of the verb table: questions of programs to a person. Data only.
 *
 * @module
 */

import { LISTS_OF_AGENTS } from "core/verbs/list_verb.ts";
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
    ...LISTS_OF_AGENTS,
    options: [{ name: "all", summary: "Include closed ones" }],
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
