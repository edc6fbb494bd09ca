/**
 * `fleetctl approvals list [<agent>]`: the calls that wait for approval. Changes nothing.
 *
 * @module
 */

import { type FoundApprovals, readApprovals } from "cli/approvals/find.ts";
import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import type { ApprovalView } from "core/dial/local_frames.ts";
import { ok, type Result } from "core/result.ts";
import type { Target } from "core/verbs/target.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl approvals list`. */
export interface Options {
  readonly isAll: boolean;
}

/** Parses the options. */
export function parseOptions({ switches }: Invocation): Result<Options> {
  return ok({ isAll: switches.has("all") });
}

/** Queries the dial units. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const read = await readApprovals(context);
  if (!read.ok) return read;
  const { approvals, unread } = read.value;
  const shown = approvals.filter((each) => options.isAll || isWaiting(each));
  return ok({
    json: { approvals: shown, unread: [...unread.keys()] },
    blocks: [{
      kind: "table",
      columns: ["id", "agent", "tool", "origin", "state", "arguments"],
      rows: shown.map(row),
      empty: emptyText(context.target, read.value),
    }],
    faults: [...unread.values()],
  });
}

/** States that nothing waits only for agents that answered. */
function emptyText(target: Target, { queried: asked, unread }: FoundApprovals): string {
  if (unread.size === 0) {
    return target.kind === "agent"
      ? `No call of agent "${target.agent}" waits for a human`
      : "No call waits for a human";
  }
  return unread.size === asked.length
    ? "Whether a call waits for a human is unknown"
    : "No call of the other agents waits for a human";
}

function isWaiting({ state }: ApprovalView): boolean {
  return state === "asked";
}

function row(of: ApprovalView): readonly Cell[] {
  const { id, agent, mcp, tool, origin, state, decision } = of;
  const name: Cell = { text: mcp === "" ? tool : `${mcp} ${tool}`, tone: "head" };
  const found = decision === undefined ? state : `${state}, ${decision}`;
  const tone = state === "asked" ? "warn" : "dim";
  return [id.slice(0, 8), agent, name, origin, { text: found, tone }, JSON.stringify(of.arguments)];
}
