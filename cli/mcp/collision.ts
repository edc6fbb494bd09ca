/**
 * Checks, before anything is recorded, whether the MCPs of one agent can have their socket units.
 * The rule, and why names collide, is in `units/reconcile/server_claims.ts`. Reads only the record
 * of rendered files.
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
  unitOwners,
} from "units/reconcile/server_claims.ts";

/**
 * Returns why one of the agent's MCPs cannot get its unit; undefined if all can. `cannot` begins
 * the sentence. The reason does not tell an agent which other agent has the unit.
 */
export async function collisionOf(
  { ports, paths, caller }: VerbContext,
  facts: Facts,
  of: {
    readonly agent: AgentName;
    /** Checks only this MCP; all of the agent's when absent. */
    readonly mcp?: McpName;
    readonly cannot: (mcp: McpName) => string;
  },
): Promise<Refusal | undefined> {
  const record = parseRecord(await ports.files.readText(recordPath(paths)) ?? "") ?? EMPTY_RECORD;
  const wired = of.mcp === undefined ? facts.wired.get(of.agent) ?? [] : [of.mcp];
  const lost = lostClaims(claimsOfHost(facts), unitOwners(record, paths)).find((claim) =>
    wired.includes(claim.mcp) && (claim.agent === undefined || claim.agent === of.agent)
  );
  if (lost === undefined) return undefined;
  const maySeeNames = isOperator(caller);
  return refusal(
    "mcp-names-collide",
    `${of.cannot(lost.mcp)}: its unit "${lost.unit}" belongs to ` +
      `${maySeeNames ? ownerText(lost.owner) : "another MCP"}, must belong to this MCP`,
    { hints: [maySeeNames ? collisionHint(lost) : "fleetctl mcp catalog list"] },
  );
}
