/**
 * Compares the tools that a running server lists with those that an operator accepted
 * (`tools.lock`). The proxy and `mcp call` share this check. No I/O.
 *
 * @module
 */

import { toolHash } from "core/catalog/tool_lock.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { McpTool } from "core/ports/mcp_client.ts";
import { err, ok, type Result } from "core/result.ts";
import { toolText } from "core/risk/decide.ts";
import type { Gate } from "core/risk/rules.ts";

/** State of one tool, compared with the accepted definition. */
export type ReviewState = "as-accepted" | "changed" | "new" | "unlisted";

const STATES: Readonly<Record<Exclude<ReviewState, "as-accepted">, string>> = {
  changed: "its definition differs from the accepted one",
  new: "it is not among the accepted tools",
  unlisted: "the running server does not list it",
};

/**
 * Returns the state of a tool. `listed` is the hash of its listed definition; undefined when the
 * server does not list it.
 */
export function reviewState(
  accepted: ReadonlyMap<string, string>,
  tool: string,
  listed: string | undefined,
): ReviewState {
  const wanted = accepted.get(tool);
  if (wanted === undefined) return "new";
  if (listed === undefined) return "unlisted";
  return listed === wanted ? "as-accepted" : "changed";
}

/** Returns the refusal of a call to a tool whose current definition no operator has accepted. */
export function unreviewedRefusal(
  call: { readonly agent: string; readonly mcp: string; readonly tool: string },
  state: Exclude<ReviewState, "as-accepted">,
): Refusal {
  return refusal(
    "tool-unreviewed",
    `Cannot call tool ${toolText(call)}: ${STATES[state]}, so it is held back until an operator ` +
      `has reviewed it`,
    { kind: "denied", hints: [reviewCommand(call)] },
  );
}

/** Returns the command that shows how an agent's running server differs from the accepted tools. */
export function reviewCommand({ mcp, agent }: { readonly mcp: string; readonly agent: string }) {
  return `fleetctl mcp catalog review ${mcp} --from ${agent === "" ? "<agent>" : agent}`;
}

/** Checks one call against the server's list right before it; for entry points without a proxy. */
export async function admitListed(
  gate: Gate,
  call: { readonly agent: string; readonly mcp: string; readonly tool: string },
  listed: readonly Pick<McpTool, "name" | "definition">[],
): Promise<Result<void>> {
  if (gate.accepted === undefined) return ok(undefined);
  const found = listed.filter(({ name }) => name === call.tool);
  // A duplicate name with two definitions is refused: the reviewer and the server may mean
  // different tools.
  const hashes = new Set(await Promise.all(found.map((one) => toolHash(one.definition))));
  const state = hashes.size > 1
    ? "changed"
    : reviewState(gate.accepted, call.tool, [...hashes].at(0));
  return state === "as-accepted" ? ok(undefined) : err(unreviewedRefusal(call, state));
}
