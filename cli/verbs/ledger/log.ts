/**
 * `fleetctl ledger log`: the changes of the ledger, newest first, each with verb and caller.
 * Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import { HISTORY_ENTRIES_MAX, readHistory } from "core/ledger/history.ts";
import { type AgentName, parseAgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Which changes to list. */
export interface Options {
  readonly agent: AgentName | undefined;
  readonly limit: number;
}

const LIMIT = 50;
const SHORT_ID = 12;

/** Parses the options. */
export function parseOptions({ options }: Invocation): Result<Options> {
  const given = options.limit ?? String(LIMIT);
  const limit = /^\d{1,6}$/.test(given) ? Number(given) : 0;
  if (limit < 1 || limit > HISTORY_ENTRIES_MAX) {
    return err(refusal(
      "options-invalid",
      `Cannot list the ledger: --limit is ${JSON.stringify(given.slice(0, 40))}, must be 1 to ` +
        HISTORY_ENTRIES_MAX,
      { kind: "usage" },
    ));
  }
  if (options.agent === undefined) return ok({ agent: undefined, limit });
  const agent = parseAgentName(options.agent);
  return agent.ok ? ok({ agent: agent.value, limit }) : agent;
}

/** Reads the history. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { agent, limit } = options;
  const entries = await readHistory(context.ports, context.paths, {
    limit,
    ...(agent === undefined ? {} : { path: context.paths.agentShard(agent) }),
  });
  if (!entries.ok) return entries;
  return ok({
    json: {
      changes: entries.value.map(({ when, verb, ...entry }) => ({
        ...entry,
        verb: verb ?? null,
        when: new Date(when).toISOString(),
      })),
    },
    blocks: [{
      kind: "table",
      columns: ["when", "commit", "caller", "change"],
      rows: entries.value.map(({ when, commit, caller, subject }) => [
        new Date(when).toISOString().slice(0, 19).replace("T", " "),
        commit.slice(0, SHORT_ID),
        caller,
        subject,
      ]),
      empty: "There are no such changes",
    }],
  });
}
