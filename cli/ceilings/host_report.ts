/**
 * The ceilings of the host as the verbs report them, and the refusal of agents: an agent does not
 * change the ceilings that limit it. Pure.
 *
 * @module
 */

import { CEILING_COLUMNS, ceilingRow, HOST_ROW } from "cli/ceilings/rows.ts";
import type { Block, VerbReport } from "cli/output.ts";
import type { HostCeilings } from "core/dial/host_ceilings.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { type Caller, callerAgent, callerText } from "core/verbs/caller.ts";

/** Returns the refusal for a caller that is an agent, even an admin; undefined for operators. */
export function notOperator(caller: Caller): Refusal | undefined {
  if (callerAgent(caller) === undefined) return undefined;
  return refusal(
    "ceiling-not-yours",
    `Cannot change the ceilings of this host: the caller is ${callerText(caller)}, must be an ` +
      "operator",
    { kind: "denied" },
  );
}

/** Returns the report about the ceilings of the host; undefined when it has none. */
export function hostReport(sums: HostCeilings | undefined): VerbReport {
  return { json: { host: sums ?? null }, blocks: [hostBlock(sums)] };
}

function hostBlock(sums: HostCeilings | undefined): Block {
  return {
    kind: "table",
    columns: CEILING_COLUMNS,
    rows: (sums?.ceilings ?? []).map((each) => ceilingRow({ agent: HOST_ROW, ...each })),
    empty: "This host has no spend ceiling",
  };
}
