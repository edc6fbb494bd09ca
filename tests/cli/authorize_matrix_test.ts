/**
 * Every verb against every kind of caller, as one table that people can read
 * (`tests/golden/cli/authorize_matrix.txt`). Complete by construction: its rows are the rows of the
 * verb table, once for each kind of target that a verb can have.
 *
 * @module
 */

import { authorize } from "core/verbs/authorize.ts";
import type { Caller } from "core/verbs/caller.ts";
import { addressFor } from "core/verbs/rewrite.ts";
import { VERBS } from "core/verbs/table.ts";
import { type Verb, verbName } from "core/verbs/verb.ts";
import {
  ADMIN,
  AGENT,
  GATEWAY,
  invocationOfRow,
  OPERATOR,
  OTHER,
} from "tests/core/verbs/callers.ts";
import { assertGolden } from "tests/support/golden.ts";

const CALLERS: readonly (readonly [name: string, caller: Caller])[] = [
  ["operator", OPERATOR],
  ["admin zoe", ADMIN],
  ["agent ada", AGENT],
  ["gateway", GATEWAY],
  ["other", OTHER],
];

/** The targets that a verb can be given: none, the caller, an agent by name. */
function targetsOf(verb: Verb): readonly (string | undefined)[] {
  if (verb.target === undefined) return [undefined];
  const optional = verb.target.absent === "required" ? [] : [undefined];
  const isSelfOnly = verb.args.find((row) => row.name === verb.target?.name)?.choices !== undefined;
  return [...optional, "self", ...(isSelfOnly ? [] : ["ada", "bea"])];
}

function answer(verb: Verb, target: string | undefined, caller: Caller): string {
  const addressed = addressFor(invocationOfRow(verb, target), caller);
  if (!addressed.ok) return `- ${addressed.error.code}`;
  const decision = authorize(caller, addressed.value);
  return decision.allowed ? "yes" : `no ${decision.refusal.code}`;
}

Deno.test("authorize() answers every verb and caller as the matrix says", async () => {
  const rows = VERBS.flatMap((verb) =>
    targetsOf(verb).map((target) => [
      verbName(verb),
      target ?? "",
      ...CALLERS.map(([, caller]) => answer(verb, target, caller)),
    ])
  );
  const table = [["verb", "target", ...CALLERS.map(([name]) => name)], ...rows];
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0))
  );
  const text = table.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()
  ).join("\n");
  await assertGolden("cli/authorize_matrix.txt", `${text}\n`);
});
