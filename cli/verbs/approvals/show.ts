/**
 * `fleetctl approvals show <id>`: one call that waits for approval, with all its arguments, its
 * origin and its expiry. Changes nothing.
 *
 * @module
 */

import { approvedTool, argumentLines } from "cli/approvals/evidence.ts";
import { findApproval } from "cli/approvals/find.ts";
import type { VerbContext } from "cli/context.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import type { ApprovalView } from "core/dial/local_frames.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl approvals show`. */
export interface Options {
  readonly id: string;
}

/** Parses the arguments. */
export function parseOptions({ args }: Invocation): Result<Options> {
  return ok({ id: args.id ?? "" });
}

/** Queries the dial units. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const found = await findApproval(context, options.id);
  return found.ok ? ok(linesReport(found.value, approvalLines(found.value))) : found;
}

/** Returns an approval as lines for people. */
function approvalLines(of: ApprovalView): readonly string[] {
  const { decision, by, surface, reason } = of;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["approval", of.id],
    ["agent", of.agent],
    ["tool", approvedTool(of)],
    ["origin", of.origin],
    ["may destroy", of.is_destructive ? "yes" : "no, as its server declares"],
    ["turn", of.turn_id],
    ["asked", new Date(of.asked).toISOString()],
    ["expires", new Date(of.expires).toISOString()],
    ["state", of.state],
    ["decision", decision === undefined ? undefined : `${decision} by ${by} (${surface})`],
    ["reason", reason],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    ...rows.flatMap(([name, value]) =>
      value === undefined ? [] : [`${name.padEnd(width)}  ${value}`]
    ),
    ...argumentLines(of.arguments),
  ];
}
