/**
 * The daemon's answers to every verb and every kind of caller must match the matrix of
 * `tests/cli/authorize_matrix_test.ts`. Uids come in as the kernel reports them, requests as bytes.
 * Only built verbs reach a decision, and the daemon answers only those that need root.
 *
 * @module
 */

import assert from "node:assert/strict";
import { splitArguments } from "core/os/argv.ts";
import { pathsUnder } from "core/paths.ts";
import { authorize, needsRoot } from "core/verbs/authorize.ts";
import type { Caller } from "core/verbs/caller.ts";
import { explain } from "core/verbs/explain.ts";
import { addressFor } from "core/verbs/target.ts";
import { parseRequest, printInvocation } from "core/verbs/invocation.ts";
import { VERBS } from "core/verbs/table.ts";
import { type Verb, verbName } from "core/verbs/verb.ts";
import { invocationOfRow, MATRIX_CALLERS, targetsOf } from "tests/core/verbs/callers.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { judge } from "units/daemon/decide.ts";

const ACCOUNTS = [["fleetctl-gateway", 990], ["fleetctl-host", 991], ["zoe", 1001], ["ada", 1002], [
  "bea",
  1003,
]] as const;

async function hostWithAgents() {
  const host = memoryHost({
    users: {
      users: ACCOUNTS.map(([name, uid]) => ({ name, uid, gid: uid, home: `/home/${name}` })),
    },
  });
  const paths = pathsUnder("/");
  await host.files.ensureDir(paths.agentsDir);
  for (const [name, admin] of [["zoe", "admin: true\n"], ["ada", ""], ["bea", ""]] as const) {
    await host.files.write(paths.agentShard(name), `name: ${name}\nchannel: webview\n${admin}`);
  }
  return { host, paths };
}

function argvOf(verb: Verb, target: string | undefined): readonly string[] {
  const row = invocationOfRow(verb, target);
  const args = { ...row.args };
  for (const { name, choices, rest } of verb.args) {
    if (choices?.[0] !== undefined && args[name] === "word") args[name] = choices[0];
    if (rest === true) args[name] = "word";
  }
  const rest = verb.args.some((one) => one.rest && !one.optional) ? ["word"] : [];
  return printInvocation({ ...row, args, rest });
}

/** Returns the ladder's answer, for requests that the daemon would pass on to it. */
function wanted(verb: Verb, target: string | undefined, caller: Caller): string {
  if (verb.later) return "verb-not-available";
  const addressed = addressFor(invocationOfRow(verb, target), caller);
  if (!addressed.ok) return addressed.error.code;
  if (!needsRoot(verb, caller, addressed.value.target)) return "not-for-daemon";
  const decision = authorize(caller, addressed.value);
  return decision.allowed ? "allowed" : decision.refusal.code;
}

for (const [name, caller] of MATRIX_CALLERS) {
  Deno.test(`judge() answers ${name} as the ladder does, and explain() reports it`, async () => {
    const { host, paths } = await hostWithAgents();
    const deps = { ports: host, paths, tokenize: splitArguments, ownUid: 0 };
    for (const verb of VERBS) {
      for (const target of targetsOf(verb)) {
        const argv = argvOf(verb, target);
        const line = new TextEncoder().encode(JSON.stringify({ argv }));
        const judged = await judge(line, { uid: caller.uid, gid: caller.uid, pid: 7 }, deps);
        const got = judged.allowed ? "allowed" : judged.refusal.code;
        const want = wanted(verb, target, caller);
        assert.equal(got, want, `${verbName(verb)} ${target ?? ""}`);
        assert.notEqual(judged.reason, "");
        if (want === "not-for-daemon") continue;
        const explained = explain(caller, parseRequest(argv, splitArguments), true);
        assert.equal(
          explained.isAllowed ? "allowed" : explained.refusal?.code,
          want,
          verbName(verb),
        );
        if (!verb.later) assert.equal(explained.reason, judged.reason, verbName(verb));
      }
    }
  });
}
