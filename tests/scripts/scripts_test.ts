/**
 * The transcripts outside the other parts, and the rule that each verb has one.
 *
 * @module
 */

import assert from "node:assert/strict";
import { VERBS } from "core/verbs/table.ts";
import { verbName } from "core/verbs/verb.ts";
import { SCRIPTS, testScripts } from "tests/scripts/run_scripts.ts";
import { runScript } from "tests/support/script.ts";

testScripts("others");

Deno.test("runScript() fails when a line does not hold", async () => {
  for (
    const text of [
      "exec:2 fleetctl help",
      "! exec fleetctl help",
      "exec fleetctl help\nstdout 'never said'",
      "exec fleetctl help\n! stdout 'Verbs'",
      "file nowhere",
      "exec fleetctl help\nmode nowhere 0600",
    ]
  ) {
    await assert.rejects(runScript(text), text);
  }
});

Deno.test("every implemented verb has a transcript with a success and a failure", () => {
  // `up` starts real processes: tests/e2e runs it.
  const built = VERBS.filter((verb) => !verb.later && verbName(verb) !== "up").map(verbName);
  const all = SCRIPTS.map(([, text]) => text).join("\n");
  const words = (verb: string) => `fleetctl (--?\\w+(=| )\\S+ )*${verb}\\b`;
  const missing = built.filter((verb) =>
    !new RegExp(`^exec ${words(verb)}`, "m").test(all) ||
    !new RegExp(`^(! exec|exec:\\d) ${words(verb)}`, "m").test(all)
  );
  assert.deepEqual(missing, []);
});
