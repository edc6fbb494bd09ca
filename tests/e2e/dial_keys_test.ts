/**
 * Dial keys through real processes: from the first proof to a commit in the ledger, and from a
 * revoke to the end of the session.
 *
 * @module
 */

import assert from "node:assert/strict";
import { generateDialKey } from "core/dial/proof.ts";
import { pathsUnder } from "core/paths.ts";
import { connectBare, proveKey } from "tests/support/gateway_fixture.ts";
import { logLength, logLine, makeRoot, runVerb, startUp } from "tests/support/up_process.ts";

const GATEWAY = "fleetctl-gateway.service";
const DENIED = { code: 1008, reason: "not authorized" };

async function git(root: string, ...args: readonly string[]): Promise<string> {
  const output = await new Deno.Command("git", {
    args: ["-C", pathsUnder(root).repo, ...args],
  }).output();
  assert.ok(output.success, new TextDecoder().decode(output.stderr));
  return new TextDecoder().decode(output.stdout);
}

/** Returns the address where agents dial in, from the gateway's log after line `from`. */
async function dialUrl(root: string, from: number): Promise<string> {
  const wanted = ({ event }: { event: string }) => event === "ready";
  const ready = await logLine(root, GATEWAY, { wanted, from });
  return `ws://127.0.0.1:${String(ready.dial).split(":").at(-1)}`;
}

async function done(root: string, ...args: readonly string[]): Promise<string> {
  const ran = await runVerb(root, args);
  assert.equal(ran.code, 0, ran.stdout + ran.stderr);
  return ran.stdout;
}

Deno.test("the first start enrolls ada's key in the ledger, the second one proves it", async () => {
  const root = await makeRoot();
  const paths = pathsUnder(root);
  await using up = startUp(root);
  await up.line(/^ready /);
  await logLine(root, GATEWAY, {
    wanted: ({ event, agent }) => event === "dial key in the ledger" && agent === "ada",
  });
  const own = JSON.parse(await Deno.readTextFile(`${paths.dialState("ada")}/key.json`)).public;
  const history = await git(root, "log", "--format=%s%n%b", "--", "agents.d/ada.yaml");
  assert.match(history, new RegExp(`^agents key enroll: dial key ${own} of agent "ada"$`, "m"));
  assert.match(history, /^Caller: root$/m);
  const listed = JSON.parse(await done(root, "agents", "key", "list", "ada", "--json"));
  assert.deepEqual(listed.agents, [{ agent: "ada", state: "enrolled", keys: [own] }]);
  assert.deepEqual(JSON.parse(await Deno.readTextFile(paths.dialKeys)).ada, [own]);

  const plain = await connectBare(await dialUrl(root, 0));
  plain.send({ type: "register", user_email: "owner@localhost", agent: "ada" });
  assert.deepEqual(await plain.closed, DENIED);
  const line = 'register rejected agent="ada" (user_email "owner@localhost" not authorized) ' +
    "reason=proof-absent";
  await logLine(root, GATEWAY, { wanted: ({ event }) => event === line });
  assert.equal(await up.stop(), 0, up.text());

  const commits = await git(root, "rev-list", "--count", "HEAD", "--", "agents.d/ada.yaml");
  const from = await logLength(root, GATEWAY);
  await using again = startUp(root);
  await again.line(/^ready /);
  const accepted = await logLine(root, GATEWAY, {
    wanted: ({ event }) => event.startsWith('register accepted agent="ada"'),
    from,
  });
  assert.equal(accepted.proven, true);
  assert.equal(
    await git(root, "rev-list", "--count", "HEAD", "--", "agents.d/ada.yaml"),
    commits,
  );
  assert.equal(await again.stop(), 0, again.text());
});

Deno.test("a revocation ends the session within a second; no key is enrolled again", async () => {
  const root = await makeRoot();
  const paths = pathsUnder(root);
  await using up = startUp(root);
  await up.line(/^ready /);
  // Agents of another host, so that no dial unit here connects for them.
  for (const name of ["cat", "dan"]) {
    await Deno.writeTextFile(
      paths.agentShard(name),
      `name: ${name}\nchannel: webview\nuser_email: ${name}@localhost\nrun_on: elsewhere\n`,
    );
  }
  const url = await dialUrl(root, 0);
  await done(root, "apply");
  await logLine(root, GATEWAY, {
    wanted: ({ event, added }) => event === "roster changed" && added === 2,
  });
  const as = { agent: "cat", userEmail: "cat@localhost" };
  const { key } = await generateDialKey();
  const client = await proveKey(url, key, as);
  await client.next("registered");
  await logLine(root, GATEWAY, {
    wanted: ({ event, agent }) => event === "dial key in the ledger" && agent === "cat",
  });

  const changes = Deno.watchFs(paths.etc);
  const revoking = done(root, "agents", "key", "revoke", "cat");
  for await (const change of changes) {
    if (change.paths.includes(paths.dialKeys)) break;
  }
  // How soon it ends is tested in `tests/gateway/dial/keys_test.ts`, with a fake clock.
  assert.deepEqual(await client.closed, DENIED);
  assert.match(await revoking, /^revoked {2}every dial key of agent "cat"$/m);

  const sameKey = await proveKey(url, key, as);
  assert.deepEqual(await sameKey.closed, DENIED);
  const newKey = (await generateDialKey()).key;
  const otherKey = await proveKey(url, newKey, as);
  assert.deepEqual(await otherKey.closed, DENIED);
  const noKey = await connectBare(url);
  noKey.send({ type: "register", user_email: "cat@localhost", agent: "cat" });
  assert.deepEqual(await noKey.closed, DENIED);

  await done(root, "agents", "key", "enroll", "cat", newKey.publicKey);
  const enrolled = await proveKey(url, newKey, as);
  await enrolled.next("registered");

  // An agent that never had a key may connect without one, until the host requires keys.
  const open = await connectBare(url);
  open.send({ type: "register", user_email: "dan@localhost", agent: "dan" });
  await open.next("registered");
  await Deno.writeTextFile(paths.hostFile, "dial_require_key: true\n");
  const from = await logLength(root, GATEWAY);
  await done(root, "apply");
  const required = await connectBare(await dialUrl(root, from));
  required.send({ type: "register", user_email: "dan@localhost", agent: "dan" });
  assert.deepEqual(await required.closed, DENIED);
  await logLine(root, GATEWAY, {
    wanted: ({ event }) => event.includes('agent="dan"') && event.endsWith("reason=proof-absent"),
    from,
  });
  assert.equal(await up.stop(), 0, up.text());
});
