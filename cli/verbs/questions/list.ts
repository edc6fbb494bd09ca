/**
 * `fleetctl questions list [<agent>]`: the questions of programs that wait for a person. Changes
 * nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { UnitAnswers } from "cli/waiting_units.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { readQuestions, unreadQuestions } from "cli/questions/queries.ts";
import type { QuestionView } from "core/dial/local_frames.ts";
import { summaryOf } from "core/questions/form.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import type { Target } from "core/verbs/target.ts";

/** Options of `fleetctl questions list`. */
export interface Options {
  readonly isAll: boolean;
}

/** Parses the options. */
export function parseOptions({ switches }: Invocation): Result<Options> {
  return ok({ isAll: switches.has("all") });
}

/** Queries the dial units. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const read = await readQuestions(context);
  if (!read.ok) return read;
  const { found, unread } = read.value;
  const shown = found.filter(({ state }) => options.isAll || state === "asked");
  return ok({
    json: { questions: shown, unread: [...unread.keys()] },
    blocks: [{
      kind: "table",
      columns: ["id", "agent", "asked by", "state", "question"],
      rows: shown.map(row),
      empty: emptyText(context.target, read.value),
    }],
    faults: unreadQuestions(read.value),
  });
}

/** States that nothing waits only for agents that answered. */
function emptyText(target: Target, { queried, unread }: UnitAnswers<QuestionView>): string {
  if (unread.size === 0) {
    return target.kind === "agent"
      ? `No question of agent "${target.agent}" waits for a person`
      : "No question waits for a person";
  }
  return unread.size === queried.length
    ? "Whether a question waits for a person is unknown"
    : "No question of the other agents waits for a person";
}

function row(of: QuestionView): readonly Cell[] {
  const { id, agent, mcp, state, action } = of;
  const found = action === undefined || action === state ? state : `${state}, ${action}`;
  const tone = state === "asked" ? "warn" : "dim";
  const asker = mcp === null ? "its program" : `MCP ${mcp}`;
  return [
    id.slice(0, 8),
    agent,
    asker,
    { text: found, tone },
    { text: summaryOf(of), tone: "head" },
  ];
}
