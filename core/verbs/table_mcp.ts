/**
 * Rows of the verb table: an agent's MCPs. `core/verbs/table_mcp_catalog.ts` has the rows of the
 * catalog. Data only.
 *
 * @module
 */

import { MCP_CATALOG_VERBS } from "core/verbs/table_mcp_catalog.ts";
import type { Argument, Option, Verb } from "core/verbs/verb.ts";

const MCP: Argument = { name: "mcp", summary: "Name of a catalog entry" };
const TARGET: Argument = { name: "agent", summary: 'Name of an agent, or "self"' };
const DRY_RUN: Option = {
  name: "dry-run",
  summary: "Print what would change, with the names of keys and never their values",
};
const CALL_ARGUMENTS: readonly Argument[] = [
  MCP,
  { name: "tool", summary: "Name of a tool of that MCP" },
  { name: "agent", optional: true, summary: "Agent to call as; the calling agent if omitted" },
];
const CALL_OPTIONS: readonly Option[] = [
  { name: "args", value: "json", summary: "Arguments of the tool as one JSON object" },
  {
    name: "out",
    value: "n",
    summary: "Print only content block n: text verbatim, anything else in base64",
  },
  { name: "timeout", value: "seconds", summary: "Time limit; waiting for a human does not count" },
  {
    name: "answer",
    value: "name=text",
    repeat: true,
    summary: "Value of a field that the server requests; repeatable",
  },
];

/** Verbs whose first word is `mcp`. */
export const MCP_VERBS: readonly Verb[] = [
  {
    path: ["mcp", "add"],
    args: [MCP, TARGET],
    options: [
      { name: "force", summary: "Wire it even if required keys are not set" },
      DRY_RUN,
    ],
    scope: "self",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: true,
    summary: "Wire a catalogued MCP to an agent",
    example: "fleetctl mcp add git self",
  },
  {
    path: ["mcp", "call"],
    args: CALL_ARGUMENTS,
    options: CALL_OPTIONS,
    scope: "self_or_root",
    target: { from: "argument", name: "agent", absent: "caller" },
    runs: "root_for_peer",
    mutates: true,
    summary: "Call a tool of a wired MCP",
    example: `fleetctl mcp call git git_status self --args '{"path":"/srv/site"}'`,
  },
  ...MCP_CATALOG_VERBS,
  {
    path: ["mcp", "doctor"],
    args: [MCP, TARGET],
    options: [],
    scope: "self",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: false,
    summary: "Check each step from catalog to tools and suggest commands",
    example: "fleetctl mcp doctor git self",
  },
  {
    path: ["mcp", "read"],
    args: CALL_ARGUMENTS,
    options: CALL_OPTIONS,
    scope: "self",
    target: { from: "argument", name: "agent", absent: "caller" },
    runs: "root_for_peer",
    mutates: false,
    summary: "Call a tool; an admin may call a read-only one of another agent",
    example: `fleetctl mcp read git git_log ada --args '{"path":"/srv/site"}'`,
  },
  {
    path: ["mcp", "remove"],
    args: [MCP, TARGET],
    options: [DRY_RUN],
    scope: "self",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: true,
    summary: "Remove an MCP from an agent",
    example: "fleetctl mcp remove git self",
  },
  {
    path: ["mcp", "wired"],
    args: [TARGET],
    options: [],
    scope: "self",
    target: { from: "argument", name: "agent", absent: "required" },
    runs: "root",
    mutates: false,
    summary: "List the MCPs of an agent and whether each is live",
    example: "fleetctl mcp wired ada",
  },
];
