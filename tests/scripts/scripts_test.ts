/**
 * Every transcript of `tests/scripts`, and the rule that each verb has one.
 *
 * @module
 */

import assert from "node:assert/strict";
import { VERBS } from "core/verbs/table.ts";
import { verbName } from "core/verbs/verb.ts";
import { runScript } from "tests/support/script.ts";

const FOLDER = new URL("./", import.meta.url);
const scripts = [...Deno.readDirSync(FOLDER)]
  .filter((entry) => entry.name.endsWith(".txtar"))
  .map((entry) => [entry.name, Deno.readTextFileSync(new URL(entry.name, FOLDER))] as const)
  .sort(([a], [b]) => a < b ? -1 : 1);

for (const [name, text] of scripts) {
  Deno.test(`fleetctl does what tests/scripts/${name} says`, async () => {
    await runScript(text);
  });
}

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

Deno.test("every verb that is built has a transcript with a good and a bad ending", () => {
  // `up` starts real processes: tests/e2e runs it.
  const built = VERBS.filter((verb) => !verb.later && verbName(verb) !== "up").map(verbName);
  const all = scripts.map(([, text]) => text).join("\n");
  const words = (verb: string) => `fleetctl (--?\\w+(=| )\\S+ )*${verb}\\b`;
  const missing = built.filter((verb) =>
    !new RegExp(`^exec ${words(verb)}`, "m").test(all) ||
    !new RegExp(`^(! exec|exec:\\d) ${words(verb)}`, "m").test(all)
  );
  assert.deepEqual(missing, []);
});
