/**
 * The purpose of the trusted base. The kernel and the daemon let an agent's own user manage its
 * secrets and refuse everything else. An operator may do both, and the audit log records it all.
 *
 * @module
 */

import assert from "node:assert/strict";
import { printInvocation } from "core/verbs/invocation.ts";
import { VERBS } from "core/verbs/table.ts";
import { verbName } from "core/verbs/verb.ts";
import { invocationOfRow } from "tests/core/verbs/callers.ts";
import type { DaemonScene } from "tests/system/daemon/scene.ts";

/** What the kernel denies ada, as the commands that she would try. */
const KERNEL: readonly (readonly string[])[] = [
  ["cat", "/etc/fleetctl/host-op.env"],
  ["cat", "/etc/fleetctl/host.key"],
  ["cat", "/etc/fleetctl/env/agent-bob.env"],
  ["cat", "/var/lib/fleetctl/repo/secrets.age"],
  ["ls", "/var/lib/fleetctl/repo/agents.d"],
  ["ls", "/var/lib/fleetctl/daemon"],
  ["ls", "/home/bob"],
  ["touch", "/etc/fleetctl/env/agent-ada.env"],
  ["touch", "/run/fleetctl/x"],
  ["ln", "-s", "/etc/shadow", "/run/fleetctl/fleetctl.sock.new"],
  ["sh", "-c", "echo x > /usr/lib/fleetctl/fleetctl-exec"],
];

/** An agent's own user sets its secret; so does an operator. */
export async function ownSecret(scene: DaemonScene): Promise<void> {
  const set = await scene.ada("secret set CODEHOST_TOKEN --value - --agent self", "t 1\n");
  assert.equal(set.code, 0, set.err);
  assert.equal((await scene.ada("secret get CODEHOST_TOKEN")).out, "t 1\n");
  assert.match(
    await scene.host.read("/etc/fleetctl/env/agent-ada.env"),
    /^CODEHOST_TOKEN="?t 1"?$/m,
  );
  await scene.must(
    "fleetctl",
    "secret",
    "set",
    "CODEHOST_TOKEN",
    "--value",
    "t2",
    "--agent",
    "ada",
  );
  assert.equal((await scene.ada("secret get CODEHOST_TOKEN --agent self")).out, "t2\n");
}

/** The same user is refused every operator verb, with the exit code of a denial. */
export async function operatorVerbs(scene: DaemonScene): Promise<void> {
  for (const words of KERNEL) {
    const ended = await scene.run(words, { user: "ada" });
    assert.notEqual(ended.code, 0, words.join(" "));
    assert.match(ended.err, /Permission denied/, words.join(" "));
  }
  const operator = VERBS.filter((verb) =>
    !verb.later && verb.runs === "root" && verb.scope === "operator"
  );
  assert.ok(operator.length > 10);
  const before = (await scene.audit()).at(-1)?.id ?? 0;
  for (const verb of operator) {
    const row = invocationOfRow(verb, verb.target === undefined ? undefined : "bob");
    const rest = verb.args.some((one) => one.rest && !one.optional) ? ["word"] : [];
    const words = printInvocation({ ...row, rest, switches: switchesOf(verb.confirms === true) });
    // A secret option is read from stdin, which is empty here.
    const ended = await scene.run(["fleetctl", ...words], { user: "ada", input: "x" });
    assert.equal(ended.code, 4, `${words.join(" ")}\n${ended.out}${ended.err}`);
    assert.match(ended.err, /operator-only/, words.join(" "));
  }
  const rows = (await scene.audit("--caller", "ada", "--denied")).filter(({ id }) => id > before);
  assert.deepEqual(rows.map(({ verb }) => verb), operator.map(verbName));
  assert.ok(rows.every(({ code, reason }) => code !== null && reason === "operator only"));
}

function switchesOf(isConfirmed: boolean): ReadonlySet<string> {
  return new Set(isConfirmed ? ["yes"] : []);
}

/** An operator runs operator verbs through the daemon and without it; the log has both. */
export async function operator(scene: DaemonScene): Promise<void> {
  await scene.must("fleetctl", "agents", "set", "ada", "--model", "large-2");
  const asZoe = await scene.run(
    ["fleetctl", "agents", "set", "ada", "--model", "small-2"],
    { user: "zoe" },
  );
  assert.equal(asZoe.code, 0, asZoe.err);
  assert.match(await scene.must("fleetctl", "agents", "show", "ada"), /small-2/);
  const log = await scene.must(
    "git",
    "-C",
    "/var/lib/fleetctl/repo",
    "log",
    "--format=%s %an",
    "-5",
  );
  assert.match(log, /agents set/);
  const rows = await scene.audit("--since", "10m");
  const hasRow = (caller: RegExp, verb: string, via: string) =>
    rows.some((row) =>
      caller.test(row.caller) && row.verb === verb && row.via === via && row.exit === "0"
    );
  assert.ok(hasRow(/^operator:0$/, "agents set", "daemon"));
  assert.ok(hasRow(/^admin:zoe:/, "agents set", "daemon"));
  assert.ok(hasRow(/^operator:0$/, "agents show", "direct"));
  assert.ok(hasRow(/^agent:ada:/, "secret set", "daemon"));
}
