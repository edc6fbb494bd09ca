/**
 * Verbs on a host. An agent's verbs run through the daemon, or are refused and audited. An owner's
 * run through the page, and the store's through the permission sets of their child process.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { DAEMON, DIAL, GATEWAY, PackagedHost } from "tests/support/packaged_host.ts";

/** What ada may not do, with the text of the refusal. */
const DENIED: readonly (readonly [line: string, says: RegExp])[] = [
  ["secret set K --value x", /shared and host secrets are operator-only/],
  ["secret get K --agent bob", /for agent "bob" as agent "ada"/],
  ["agents add eve --channel webview --user-email eve@example.org", /it is operator-only/],
  ["mcp add git bob", /for agent "bob" as agent "ada"/],
  ["mcp wired bob", /for agent "bob" as agent "ada"/],
  ["apply", /it is operator-only/],
  ["--as bob mcp wired bob", /must have more rights than that agent/],
];

/** Checks what ada may do, and what she may not. */
export async function checkVerbsOfAda(scene: PackagedHost): Promise<void> {
  const wired = await scene.ada("mcp wired ada");
  assert.equal(wired.code, 0, wired.err);
  assert.match(wired.out, /^git +\S+ +per_user +added +live$/m);
  const set = await scene.ada("secret set K --value - --agent self", "v 1\n");
  assert.equal(set.code, 0, set.err);
  assert.equal((await scene.ada("secret get K --agent self")).out, "v 1\n");
  assert.match(await scene.host.read("/etc/fleetctl/env/agent-ada.env"), /^K="?v 1"?$/m);
  assert.equal(await scene.modeOf("/etc/fleetctl/env/agent-ada.env"), "640 root:ada");
  for (const [line, says] of DENIED) {
    const ended = await scene.ada(line);
    assert.match(ended.err, says, `${line}\n${ended.err}`);
    assert.equal(ended.code, 4, `${line}\n${ended.err}`);
  }
  assert.equal((await scene.run(["getent", "passwd", "eve"])).code, 2);
  const path = `${scene.host.root}/var/lib/fleetctl/daemon/audit.sqlite`;
  using database = new DatabaseSync(path, { readOnly: true });
  const rows = database.prepare(
    "SELECT verb, code FROM audit WHERE uid = ? AND allowed = 0 ORDER BY id",
  ).all(Number(await scene.must("id", "-u", "ada")));
  assert.equal(rows.length, DENIED.length, JSON.stringify(rows));
  assert.ok(rows.every(({ code }) => code !== ""));
}

/** What the gateway's own user may not do, whichever page requested it. */
const GATEWAY_DENIED = [
  "secret set ANTHROPIC_API_KEY --value x --agent ada",
  "secret get ANTHROPIC_API_KEY --agent ada",
  "agents restart ada",
  "agents set ada --model x",
  "apply",
];

/** An owner chooses a model in the page; the gateway's own user may not change one. */
export async function checkModelFromPage(scene: PackagedHost): Promise<void> {
  const key = "sk-a-key-from-the-page-0123456789";
  const chosen = { agent: "ada", provider: "openai-compatible", model: "m" };
  const address = { base_url: "http://127.0.0.1:9/v1" };
  const model = (body: unknown, owner = "ada@example.org") =>
    scene.askCockpit(owner, { method: "POST", path: "/api/model", body });
  const before = await scene.property(DIAL, "MainPID");
  const tried = await model({ ...chosen, ...address, key });
  assert.deepEqual([tried.status, tried.body.code], [422, "model-unreachable"]);
  assert.equal(await scene.property(DIAL, "MainPID"), before, "a refusal changes nothing");
  const foreign = await model({ ...chosen, ...address, key }, "bob@example.org");
  assert.deepEqual([foreign.status, foreign.body.code], [403, "agent-denied"]);
  const stored = await model({ ...chosen, ...address, key, check: false });
  assert.deepEqual([stored.status, stored.body.model, stored.body.key], [200, "m", "set"]);
  assert.notEqual(await scene.property(DIAL, "MainPID"), before);
  const env = "/etc/fleetctl/env/agent-ada.env";
  assert.match(await scene.host.read(env), new RegExp(`^FLEETCTL_MODEL_KEY="?${key}"?$`, "m"));
  assert.equal(await scene.modeOf(env), "640 root:ada");
  const sets = await scene.host.read("/var/lib/fleetctl/permissions/agent-ada.json");
  assert.ok(sets.includes("127.0.0.1:9"), "the runtime may reach the endpoint");
  const journal = await scene.must("journalctl", "--no-pager", "-o", "cat");
  assert.ok(!journal.includes(key), "no journal holds a key");
  for (const line of GATEWAY_DENIED) {
    const ended = await scene.run(["fleetctl", ...line.split(" ")], { user: "fleetctl-gateway" });
    assert.equal(ended.code, 4, `${line}\n${ended.err}`);
    assert.match(ended.err, /the caller is the gateway|for the gateway/, line);
  }
  const back = await model({ agent: "ada", provider: "demo" });
  assert.deepEqual([back.status, back.body.provider], [200, "demo"]);
  assert.match((await scene.turn("what can you do")).answer, /demo/i);
}

/** The store's verbs through the daemon and its permission sets, for ada and for root. */
export async function checkStore(scene: PackagedHost): Promise<void> {
  const listed = await scene.ada("secret list");
  assert.match(listed.out, /^K +agents\.ada +[0-9a-f]{10} +\S+ \S+ +ada$/m, listed.err);
  assert.doesNotMatch(listed.out, /WEBVIEW_|FLEETCTL_|v 1/);
  for (const line of ["ledger log", "host set teams_gateway x", "secret rotate hmac"]) {
    assert.equal((await scene.ada(line)).code, 4, line);
  }
  await scene.must("fleetctl", "host", "set", "teams_gateway", "boreas");
  // The daemon signs its next grant with the new key, and the child accepts it.
  await scene.must("fleetctl", "secret", "rotate", "host-op");
  await scene.must("fleetctl", "host", "unset", "teams_gateway");
  await scene.must("fleetctl", "secret", "rotate", "assertion", "--revoke");
  assert.match((await scene.turn("what can you do")).answer, /demo/i);
  const recovery = await scene.must("fleetctl", "secret", "recovery", "add");
  await scene.must("fleetctl", "secret", "rotate", "recipient");
  await scene.must("rm", "/etc/fleetctl/host.key");
  const lost = await scene.ada("secret get K --agent self");
  assert.match(lost.err, /Cannot use the host key .*: it does not exist/);
  const words = ["fleetctl", "secret", "recover", "--key", "-"];
  const recovered = await scene.run(words, { input: recovery });
  assert.equal(recovered.code, 0, recovered.err);
  assert.equal((await scene.ada("secret get K --agent self")).out, "v 1\n");
  for (const path of ["/etc/fleetctl/host.key", "/etc/fleetctl/host-op.env"]) {
    assert.equal(await scene.modeOf(path), "600 root:root");
  }
  assert.match(await scene.must("fleetctl", "ledger", "log"), /secret recover: the key of host/);
  // The gateway was restarted, and each agent reconnects after its own delay.
  for (const name of ["ada", "bob"]) {
    await scene.untilLogged(GATEWAY, `register accepted agent=.*${name}`);
  }
  assert.match(await scene.must("fleetctl", "status"), /nothing is wrong/);
}

/** Without the daemon an agent gets a refusal, and an operator can still read. */
export async function checkWithoutDaemon(scene: PackagedHost): Promise<void> {
  await scene.must("systemctl", "stop", DAEMON);
  const ended = await scene.ada("status");
  assert.match(ended.err, /no daemon answers .*\nhint: systemctl restart fleetctl-daemon\.service/);
  assert.equal(ended.code, 1);
  const read = await scene.run(["fleetctl", "status", "--json"]);
  assert.equal(read.code, 1, "an operator reads, and the exit code tells of the daemon");
  assert.match(read.out, /"code":"role-down"/);
  await scene.must("systemctl", "start", DAEMON);
}
