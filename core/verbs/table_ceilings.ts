/**
 * Rows of the verb table: spend ceilings. Data only.
 *
 * @module
 */

import { LISTS_OF_AGENTS } from "core/verbs/list_verb.ts";
import type { Verb } from "core/verbs/verb.ts";

/** Verbs whose first word is `ceilings`. */
export const CEILING_VERBS: readonly Verb[] = [
  {
    path: ["ceilings", "allow"],
    args: [
      { name: "agent", summary: "Name of an agent; never the caller itself" },
      {
        name: "more",
        summary: "How much more in the current period, such as day=2usd or hour=100k-tokens",
      },
    ],
    options: [],
    scope: "operator",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: true,
    summary: "Allow an agent to spend more until the current period ends",
    example: "fleetctl ceilings allow ada day=2usd",
  },
  {
    path: ["ceilings", "host", "allow"],
    args: [{
      name: "more",
      summary: "How much more in the current period, such as day=20usd or hour=1m-tokens",
    }],
    options: [],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Allow all agents of this host together to spend more until the current period ends",
    example: "fleetctl ceilings host allow day=20usd",
  },
  {
    path: ["ceilings", "host", "set"],
    args: [{
      name: "ceilings",
      summary: "Such as day=50usd,month=500usd; an empty text removes all",
    }],
    options: [],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Set how much all agents of this host together may spend",
    example: "fleetctl ceilings host set day=50usd",
  },
  {
    path: ["ceilings", "host", "sum"],
    args: [],
    options: [],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Sum up what the agents of this host have spent, as the daemon does twice a minute",
    example: "fleetctl ceilings host sum",
  },
  {
    path: ["ceilings", "list"],
    ...LISTS_OF_AGENTS,
    options: [],
    summary: "List the spend ceilings of agents, and what is spent",
    example: "fleetctl ceilings list",
  },
];
