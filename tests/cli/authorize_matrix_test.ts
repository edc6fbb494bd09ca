/**
 * Every verb against every kind of caller, as a readable table
 * (`tests/golden/cli/authorize_matrix.txt`). It is complete by construction: its rows are those of
 * the verb table, once for each kind of target that a verb can have. `later` marks verbs that are
 * described but not built yet; help hides them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { helpText } from "cli/help.ts";
import { authorize } from "core/verbs/authorize.ts";
import type { Caller } from "core/verbs/caller.ts";
import { addressFor } from "core/verbs/target.ts";
import { VERBS } from "core/verbs/table.ts";
import { type Verb, verbName } from "core/verbs/verb.ts";
import { invocationOfRow, MATRIX_CALLERS, targetsOf } from "tests/core/verbs/callers.ts";
import { assertGolden } from "tests/support/golden.ts";

function answer(verb: Verb, target: string | undefined, caller: Caller): string {
  const addressed = addressFor(invocationOfRow(verb, target), caller);
  if (!addressed.ok) return `- ${addressed.error.code}`;
  const decision = authorize(caller, addressed.value);
  return decision.allowed ? "yes" : `no ${decision.refusal.code}`;
}

function state(verb: Verb): string {
  if (verb.later) return "later";
  return verb.hidden ? "hidden" : "";
}

Deno.test("authorize() answers every verb and caller as the matrix says", async () => {
  const rows = VERBS.flatMap((verb) =>
    targetsOf(verb).map((target) => [
      verbName(verb),
      state(verb),
      target ?? "",
      ...MATRIX_CALLERS.map(([, caller]) => answer(verb, target, caller)),
    ])
  );
  const table = [["verb", "state", "target", ...MATRIX_CALLERS.map(([name]) => name)], ...rows];
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0))
  );
  const text = table.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()
  ).join("\n");
  await assertGolden("cli/authorize_matrix.txt", `${text}\n`);
});

Deno.test("help hides every verb that is not implemented yet", () => {
  const help = helpText([]) ?? "";
  for (const verb of VERBS) {
    const isShown = new RegExp(`^ *${verbName(verb)}( |$)`, "m").test(help);
    if (verb.later || verb.hidden) assert.ok(!isShown, verbName(verb));
  }
  assert.match(help, /^ *audit list /m);
});
