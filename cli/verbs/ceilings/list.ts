/**
 * `fleetctl ceilings list [<agent>]`: spend ceilings, and what is spent of them in the current
 * periods. Changes nothing.
 *
 * @module
 */

import { type AgentCeiling, CEILING_COLUMNS, ceilingRow, HOST_ROW } from "cli/ceilings/rows.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { queryUnits, type UnitAnswers } from "cli/waiting_units.ts";
import { type HostCeilings, parseHostCeilings } from "core/dial/host_ceilings.ts";
import { query, type QueryTarget, unexpected } from "core/dial/local_query.ts";
import { refusal } from "core/errors.ts";
import { readLedger } from "core/ledger/ledger.ts";
import { err, ok, type Result } from "core/result.ts";
import { seesHost } from "core/verbs/caller.ts";
import type { Target } from "core/verbs/target.ts";

/** Options of `fleetctl ceilings list`. */
export type Options = Readonly<Record<string, never>>;

/** Longest answer: six ceilings. */
const ANSWER_BYTES_MAX = 64 * 1024;

/** There are no options. */
export function parseOptions(): Result<Options> {
  return ok({});
}

/** Queries the dial units. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const ledger = await readLedger(context.ports.files, context.paths);
  if (!ledger.ok) return ledger;
  const { agents } = ledger.value;
  const answers = await queryUnits(context, (target) => readCeilings(target));
  if (!answers.ok) return answers;
  const { found, unread } = answers.value;
  const host = context.target.kind === "agent" ? undefined : await readSums(context);
  return ok({
    json: { ceilings: found, host: host ?? null, unread: [...unread.keys()] },
    blocks: [{
      kind: "table",
      columns: CEILING_COLUMNS,
      rows: [
        ...found.map(ceilingRow),
        ...(host?.ceilings ?? []).map((each) => ceilingRow({ agent: HOST_ROW, ...each })),
      ],
      empty: emptyText(context.target, answers.value),
    }],
    faults: [...unread].filter(([name]) => agents.get(name)?.ceiling !== undefined)
      .map(([name, state]) => unreadCeilings(name, state)),
  });
}

/** Returns the published ceilings of the host; `status` reports a file that cannot be read. */
async function readSums({ ports, paths, caller }: VerbContext): Promise<HostCeilings | undefined> {
  if (!seesHost(caller)) return undefined;
  const text = await ports.files.readText(paths.hostCeilings);
  return text === undefined ? undefined : parseHostCeilings(text);
}

function emptyText(target: Target, { queried, unread }: UnitAnswers<AgentCeiling>): string {
  if (unread.size > 0 && unread.size === queried.length) return "The ceilings are unknown";
  return target.kind === "agent"
    ? `Agent "${target.agent}" has no spend ceiling`
    : "No agent has a spend ceiling";
}

async function readCeilings(target: QueryTarget): Promise<Result<readonly AgentCeiling[]>> {
  const answer = await query(target, { type: "ceilings" }, ANSWER_BYTES_MAX);
  if (!answer.ok) return answer;
  if (answer.value.type !== "ceilings_result") return err(unexpected(answer.value));
  const { agent, ceilings } = answer.value;
  return ok(ceilings.map((each) => ({ agent, ...each })));
}

function unreadCeilings(agent: string, state: string) {
  return refusal("ceilings-unread", `Cannot read the ceilings of agent "${agent}": ${state}`, {
    hints: [`fleetctl agents show ${agent}`, `fleetctl agents restart ${agent}`],
  });
}
