/**
 * The common part of the rows of verbs that list something of one agent, or of all agents of the
 * host. Data only.
 *
 * @module
 */

import type { Verb } from "core/verbs/verb.ts";

/**
 * Properties that such rows share. Without the argument, the verb lists what the calling agent has;
 * for root and an admin agent, what all agents of the host have.
 */
export const LISTS_OF_AGENTS = {
  args: [{ name: "agent", optional: true, summary: 'Name of an agent, or "self"' }],
  scope: "self_or_host",
  target: { from: "argument", name: "agent", absent: "agent_or_host" },
  runs: "root",
  mutates: false,
} as const satisfies Partial<Verb>;
