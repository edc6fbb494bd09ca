/**
 * `fleetctl ceilings allow <agent> <period>=<amount>`: allows an agent to spend more until
 * the current period ends. A turn that waits at the ceiling continues.
 *
 * @module
 */

import { agentHere } from "cli/agent_here.ts";
import { type AllowedAmount, parseAllowedAmount } from "cli/ceilings/allowed_amount.ts";
import { CEILING_COLUMNS, ceilingRow } from "cli/ceilings/rows.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { unitOf } from "cli/waiting_units.ts";
import { query, unexpected } from "core/dial/local_query.ts";
import { refusal } from "core/errors.ts";
import { readLedger } from "core/ledger/ledger.ts";
import { err, ok, type Result } from "core/result.ts";
import { callerAgent, callerText } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl ceilings allow`. */
export type Options = AllowedAmount;

const ANSWER_BYTES_MAX = 64 * 1024;

/** Parses the amount. */
export function parseOptions({ args }: Invocation): Result<Options> {
  return parseAllowedAmount(args.more ?? "", "ceilings allow");
}

/** Sends the allowance to the agent's dial unit. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths, caller } = context;
  const ledger = await readLedger(ports.files, paths);
  if (!ledger.ok) return ledger;
  const here = await agentHere(context, ledger.value);
  if (!here.ok) return here;
  const { name } = here.value;
  if (callerAgent(caller) === name) return err(ownCeiling(name));
  const { period, amount: { unit, count } } = options;
  const answer = await query(unitOf(context, name), {
    type: "ceiling_allow",
    agent: name,
    period,
    unit,
    more: count,
    by: callerText(caller),
  }, ANSWER_BYTES_MAX);
  if (!answer.ok) return answer;
  if (answer.value.type !== "ceiling_result") return err(unexpected(answer.value));
  const { ceiling } = answer.value;
  return ok({
    json: { agent: name, ceiling },
    blocks: [{
      kind: "table",
      columns: CEILING_COLUMNS,
      rows: [ceilingRow({ agent: name, ...ceiling })],
      empty: "",
    }],
  });
}

function ownCeiling(agent: string) {
  return refusal(
    "ceiling-not-yours",
    `Cannot allow agent "${agent}" to spend more: the caller is the agent itself, must be an ` +
      "operator or another admin agent",
    { kind: "denied" },
  );
}
