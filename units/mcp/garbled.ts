/**
 * Which requests a broken answer of a server ends. Such an answer never arrives in another form, so
 * waiting for it would only cost the time of the deadline.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { Pending, PendingTable } from "units/mcp/pending.ts";
import type { Garbage } from "units/mcp/server_side.ts";
import type { UnlistedCalls } from "units/mcp/unlisted_calls.ts";

/**
 * Takes the requests out that a line ends: the one whose id it carries, or all of them when it was
 * meant as a message and its id cannot be read. Other output ends none.
 */
export function takeGarbled(
  line: Garbage,
  pending: PendingTable,
  unlisted: Pick<UnlistedCalls, "own" | "end">,
): readonly Pending[] {
  const { id, why, isBroken } = line;
  if (!isBroken) return [];
  if (id === undefined) {
    unlisted.end(why);
    return pending.takeAll();
  }
  if (unlisted.own.fail(id, why)) return [];
  const entry = pending.take(id);
  return entry === undefined ? [] : [entry];
}

/** The answer to a request that a broken message ended. */
export function serverGarbled(mcp: string, entry: Pending, why: string): Refusal {
  const what = entry.tool === undefined ? entry.method : `tool ${JSON.stringify(entry.tool)}`;
  return refusal(
    "server-garbage",
    `Cannot finish ${what} of MCP ${JSON.stringify(mcp)}: its answer is unusable, ${why}; it may ` +
      "have done its work",
  );
}
