/**
 * `fleetctl approvals list [<agent>]`: the calls that wait for a human. Changes nothing.
 *
 * @module
 */

import { readApprovals } from "cli/approvals/find.ts";
import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import type { ApprovalView } from "core/dial/local_frames.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** What `fleetctl approvals list` was asked for. */
export interface Options {
  readonly isAll: boolean;
}

/** Parses the options. */
export function parseOptions({ switches }: Invocation): Result<Options> {
  return ok({ isAll: switches.has("all") });
}

/** Asks the dial units. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { target } = context;
  const read = await readApprovals(context, target.kind === "agent" ? target.agent : undefined);
  if (!read.ok) return read;
  const shown = read.value.approvals.filter((each) => options.isAll || isWaiting(each));
  return ok({
    json: { approvals: shown },
    blocks: [{
      kind: "table",
      columns: ["id", "agent", "tool", "origin", "state", "arguments"],
      rows: shown.map(row),
      empty: "No call waits for a human",
    }],
    faults: read.value.faults,
  });
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
