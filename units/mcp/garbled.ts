/**
 * Decides which requests end because of a broken answer of a server. The server does not repeat
 * such an answer, so the client would wait for the deadline for nothing.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { Pending, PendingTable } from "units/mcp/pending.ts";
import type { Garbage } from "units/mcp/server_side.ts";
import type { UnlistedCalls } from "units/mcp/unlisted_calls.ts";

/**
 * Removes and returns the requests that a line ends. That is the request whose id the line
 * contains, or all requests if the line was meant as a message without a readable id. Other output
 * ends none.
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
    `Cannot finish ${what} of MCP ${JSON.stringify(mcp)}: its answer is unusable, ${why}; ` +
      "the call may have taken effect",
  );
}
