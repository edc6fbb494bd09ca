/**
 * Whether the MCPs of one agent can have their socket units, asked before anything is recorded. The
 * rule itself, and why names collide, is in `units/reconcile/server_claims.ts`. Reads the record of
 * what was rendered, and nothing else.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AgentName, McpName } from "core/names.ts";
import { isOperator } from "core/verbs/caller.ts";
import type { Facts } from "units/reconcile/facts.ts";
import { EMPTY_RECORD, parseRecord, recordPath } from "units/reconcile/record.ts";
import {
  claimsOfHost,
  collisionHint,
  lostClaims,
  ownerText,
  unitHolders,
} from "units/reconcile/server_claims.ts";

/**
 * Returns why one of the MCPs of an agent cannot get its unit, or undefined. `cannot` begins the
 * sentence. An agent does not learn whose the unit is.
 */
export async function collisionOf(
  { ports, paths, caller }: VerbContext,
  facts: Facts,
  of: {
    readonly agent: AgentName;
    /** This one alone; all of the agent's when absent. */
    readonly mcp?: McpName;
    readonly cannot: (mcp: McpName) => string;
  },
): Promise<Refusal | undefined> {
  const record = parseRecord(await ports.files.readText(recordPath(paths)) ?? "") ?? EMPTY_RECORD;
  const wired = of.mcp === undefined ? facts.wired.get(of.agent) ?? [] : [of.mcp];
  const lost = lostClaims(claimsOfHost(facts), unitHolders(record, paths)).find((claim) =>
    wired.includes(claim.mcp) && (claim.agent === undefined || claim.agent === of.agent)
  );
  if (lost === undefined) return undefined;
  const isTold = isOperator(caller);
  return refusal(
    "mcp-names-collide",
    `${of.cannot(lost.mcp)}: its unit "${lost.unit}" is that of ` +
      `${isTold ? ownerText(lost.holder) : "another MCP"}, must be its own`,
    { hints: [isTold ? collisionHint(lost) : "fleetctl mcp catalog list"] },
  );
}
