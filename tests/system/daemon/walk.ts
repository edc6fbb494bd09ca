/**
 * Every verb of the table, sent to the running daemon by every kind of caller, over its real socket
 * and with real uids. The answer must match the authorization ladder, and the audit log must
 * contain every decision. A no-op replaces the program that runs verbs as root, because half of the
 * verbs would destroy the host.
 *
 * @module
 */

import assert from "node:assert/strict";
import { authorize, needsRoot } from "core/verbs/authorize.ts";
import type { Caller } from "core/verbs/caller.ts";
import { printInvocation } from "core/verbs/invocation.ts";
import { addressFor } from "core/verbs/target.ts";
import { VERBS } from "core/verbs/table.ts";
import { type Verb, verbName } from "core/verbs/verb.ts";
import { agentNamed, invocationOfRow, targetsOf } from "tests/core/verbs/callers.ts";
import { answerOf, type DaemonScene, EXEC } from "tests/system/daemon/scene.ts";

/** Reads its envelope like the real program, and succeeds. */
const DOES_NOTHING = "#!/bin/sh\ncat > /dev/null\nexit 0\n";
const STRANGER_UID = 1_234;
const NOBODY_UID = 65_534;

interface Asked {
  readonly request: { readonly argv: readonly string[] };
  readonly verb: string;
  /** Code of the refusal; undefined when the verb is allowed. */
  readonly want: string | undefined;
}

/** Replaces the program that runs verbs as root with a script while `work` runs. */
export async function withExec(
  scene: DaemonScene,
  script: string,
  work: () => Promise<void>,
): Promise<void> {
  // A verb that runs for real may render the program again.
  await scene.settled();
  const path = `${scene.host.root}${EXEC}`;
  const before = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, script);
  try {
    await work();
  } finally {
    await Deno.writeTextFile(path, before);
  }
}

/** Runs the whole table as every kind of caller. */
export async function walkTable(scene: DaemonScene): Promise<void> {
  const callers: readonly (readonly [string, Caller])[] = [
    ["root", { kind: "operator", uid: 0 }],
    ["an admin agent", { kind: "admin", uid: await scene.uidOf("zoe"), agent: agentNamed("zoe") }],
    ["ada", { kind: "agent", uid: await scene.uidOf("ada"), agent: agentNamed("ada") }],
    ["another agent", { kind: "agent", uid: await scene.uidOf("bob"), agent: agentNamed("bob") }],
    ["the gateway", { kind: "gateway", uid: await scene.uidOf("fleetctl-gateway") }],
    ["the host's own unit", { kind: "host", uid: await scene.uidOf("fleetctl-host") }],
    ["a uid without account", { kind: "other", uid: STRANGER_UID }],
    ["nobody", { kind: "other", uid: NOBODY_UID }],
  ];
  await withExec(scene, DOES_NOTHING, async () => {
    for (const [name, caller] of callers) await walkAs(scene, name, caller);
  });
}

async function walkAs(scene: DaemonScene, name: string, caller: Caller): Promise<void> {
  const asked = VERBS.flatMap((verb) =>
    targetsOf(verb).flatMap((target) => ask(verb, target, caller))
  );
  assert.ok(asked.length > 40, "the table is not empty");
  const last = (await scene.audit()).at(-1)?.id ?? 0;
  const answers = await scene.ask(caller.uid, asked.map(({ request }) => request));
  // A rate-limit refusal has its own row and is not an answer: the client retries.
  const rows = (await scene.audit("--caller", String(caller.uid)))
    .filter(({ id, via, code }) => id > last && via === "daemon" && code !== "daemon-busy");
  assert.equal(rows.length, asked.length, `${name}: one row for each decision`);
  for (const [at, { verb, want, request }] of asked.entries()) {
    const line = `${name}: ${request.argv.join(" ")}`;
    assert.equal(answerOf(answers[at]), want ?? "exit 0", line);
    const row = rows[at];
    assert.deepEqual(
      [row?.verb, row?.allowed, row?.code],
      [verb, want === undefined, want ?? null],
      line,
    );
    assert.notEqual(row?.reason, "", line);
    assert.equal(row?.exit, want === undefined ? "0" : null, line);
  }
}

/**
 * Returns the requests and the ladder's answers; leaves out verbs that the daemon does not handle.
 */
function ask(verb: Verb, target: string | undefined, caller: Caller): readonly Asked[] {
  if (verb.later) return [];
  const row = invocationOfRow(verb, target);
  const args = { ...row.args };
  for (const { name, choices } of verb.args) {
    if (choices?.[0] !== undefined && args[name] === "word") args[name] = choices[0];
  }
  const rest = verb.args.some((one) => one.rest && !one.optional) ? ["word"] : [];
  const argv = printInvocation({ ...row, args, rest });
  const addressed = addressFor(row, caller);
  if (!addressed.ok) {
    return [{ request: { argv }, verb: "", want: addressed.error.code }];
  }
  if (!needsRoot(verb, caller, addressed.value.target)) {
    return [{ request: { argv }, verb: verbName(verb), want: "not-for-daemon" }];
  }
  const decision = authorize(caller, addressed.value);
  const want = decision.allowed ? undefined : decision.refusal.code;
  return [{ request: { argv }, verb: verbName(verb), want }];
}
