/**
 * Every verb of the command line, one row each, sorted by name. Data only: parsing, help,
 * completion, authorization and the daemon all read this table, and a test checks it.
 * `cli/commands.ts` finds the file of a row by its path.
 *
 * @module
 */

import { AGENT_VERBS } from "core/verbs/table_agents.ts";
import { APPROVAL_VERBS } from "core/verbs/table_approvals.ts";
import { CEILING_VERBS } from "core/verbs/table_ceilings.ts";
import { HOST_VERBS } from "core/verbs/table_host.ts";
import { MCP_VERBS } from "core/verbs/table_mcp.ts";
import { CONVERSATION_VERBS } from "core/verbs/table_conversations.ts";
import { QUESTION_VERBS } from "core/verbs/table_questions.ts";
import { STORE_VERBS } from "core/verbs/table_store.ts";
import { type Verb, verbName } from "core/verbs/verb.ts";

/** Every verb, sorted by name. */
export const VERBS: readonly Verb[] = [
  ...AGENT_VERBS,
  ...APPROVAL_VERBS,
  ...CEILING_VERBS,
  ...HOST_VERBS,
  ...MCP_VERBS,
  ...CONVERSATION_VERBS,
  ...QUESTION_VERBS,
  ...STORE_VERBS,
]
  .sort((a, b) => verbName(a) < verbName(b) ? -1 : 1);

/** Returns the row with exactly these words. */
export function verbNamed(name: string): Verb | undefined {
  return VERBS.find((verb) => verbName(verb) === name);
}

/** Returns the row with the longest path that is a prefix of `words`. */
export function matchVerb(words: readonly string[]): Verb | undefined {
  let best: Verb | undefined;
  for (const verb of VERBS) {
    const opens = verb.path.every((word, index) => words[index] === word);
    if (opens && verb.path.length > (best?.path.length ?? 0)) best = verb;
  }
  return best;
}

/** Returns the implemented rows below a group such as `mcp catalog`. */
export function verbsUnder(words: readonly string[]): readonly Verb[] {
  return VERBS.filter((verb) =>
    !verb.later && !verb.hidden && verb.path.length > words.length &&
    words.every((word, index) => verb.path[index] === word)
  );
}
