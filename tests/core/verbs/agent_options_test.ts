/**
 * Every text field of an agent's record has options; the test fails for a field that is missing
 * here.
 *
 * @module
 */

import assert from "node:assert/strict";
import { textOption } from "cli/agents/text_options.ts";
import { TEXT_FIELD_NAMES, type TextFieldName } from "core/ledger/agent_fields.ts";
import { VERBS } from "core/verbs/table.ts";
import { verbName } from "core/verbs/verb.ts";

/** Fields that `agents add` sets without an option. */
const SET_BY_ADD: readonly TextFieldName[] = ["runOn"];

for (const [verb, without] of [["agents add", SET_BY_ADD], ["agents set", []]] as const) {
  Deno.test(`${verb} has an option for every text of the record`, () => {
    const options = VERBS.find((row) => verbName(row) === verb)?.options.map(({ name }) => name);
    const wanted = TEXT_FIELD_NAMES.filter((field) =>
      !(without as readonly TextFieldName[]).includes(field)
    ).map(textOption);
    assert.deepEqual(wanted.filter((name) => !options?.includes(name)), []);
  });
}
