/**
 * A verb that deletes data only with a switch asks for confirmation with that switch alone, and
 * accepts only the word of its row.
 *
 * @module
 */

import assert from "node:assert/strict";
import { confirm } from "cli/confirm.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { verbNamed } from "core/verbs/table.ts";

function removal(...switches: readonly string[]): Invocation {
  const verb = verbNamed("webview-login remove");
  assert.ok(verb !== undefined);
  const words = { args: {}, rest: [], options: {}, json: false, as: undefined };
  return { verb, ...words, switches: new Set(switches) };
}

async function ask(invocation: Invocation, answer: string | undefined) {
  const asked: string[] = [];
  const promptLine = async (label: string) => {
    asked.push(label);
    return answer;
  };
  return { asked, done: await confirm(invocation, { promptLine }) };
}

Deno.test("confirm() asks only for a switch that deletes something", async () => {
  for (const switches of [[], ["delete-state", "dry-run"], ["delete-state", "yes"]]) {
    const { asked, done } = await ask(removal(...switches), undefined);
    assert.deepEqual([asked, done.ok], [[], true], switches.join(" "));
  }
  const { asked, done } = await ask(removal("delete-state"), "webview-login\n");
  assert.deepEqual(asked, [
    '"fleetctl webview-login remove --delete-state" cannot be undone. ' +
    'Type "webview-login" to continue: ',
  ]);
  assert.ok(done.ok && done.value.switches.has("yes"));
});

Deno.test("confirm() asks before an agent gets the rights of an admin", async () => {
  const verb = verbNamed("agents set");
  assert.ok(verb !== undefined);
  const words = { args: { name: "ada" }, rest: [], json: false, as: undefined };
  const setting = (options: Readonly<Record<string, string>>): Invocation => ({
    verb,
    ...words,
    options,
    switches: new Set(),
  });
  for (const options of [{ model: "m" }, { admin: "no" }]) {
    const { asked, done } = await ask(setting(options), undefined);
    assert.deepEqual([asked, done.ok], [[], true]);
  }
  const { asked, done } = await ask(setting({ admin: "yes" }), "ada");
  assert.match(asked[0] ?? "", /^"fleetctl agents set ada --admin yes" gives this agent, and /);
  assert.ok(done.ok && done.value.switches.has("yes"));
  assert.ok(!(await ask(setting({ admin: "yes" }), "bea")).done.ok);
});

Deno.test("confirm() accepts no other word, and needs --yes without a terminal", async () => {
  for (const answer of ["", "yes", "webview-gateway", undefined]) {
    const { done } = await ask(removal("delete-state"), answer);
    assert.equal(!done.ok && done.error.code, "not-confirmed", String(answer));
  }
});
