/**
 * How `fleetctl-exec` handles an envelope: nothing without a valid grant, and the same as
 * `fleetctl` with one.
 *
 * @module
 */

import assert from "node:assert/strict";
import { runGranted } from "cli/exec/run_granted.ts";
import { pathsUnder } from "core/paths.ts";
import type { Caller } from "core/verbs/caller.ts";
import type { VerbRequest } from "core/verbs/daemon_frames.ts";
import { printEnvelope } from "core/verbs/exec_envelope.ts";
import { signGrant } from "core/verbs/grant.ts";
import { AGENT, OPERATOR } from "tests/core/verbs/callers.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";
import { memoryCli } from "tests/support/memory_cli.ts";

const KEY = "k".repeat(43);
const paths = pathsUnder("/");

async function machine(): Promise<MemoryHost> {
  const host = memoryHost();
  await host.files.ensureDir(paths.etc);
  await host.files.ensureDir(paths.agentsDir);
  await host.files.write(paths.hostOpKeys, `FLEETCTL_HOST_OP_GRANT_SECRET=${KEY}\n`, {
    mode: 0o600,
    uid: 0,
  });
  await host.files.write(
    paths.agentShard("ada"),
    "name: ada\nchannel: webview\nruntime: runtime-b\nrun_on: atlas\n",
  );
  return host;
}

async function envelope(
  host: MemoryHost,
  request: VerbRequest,
  caller: Caller = OPERATOR,
): Promise<string> {
  const subject = { request, caller };
  const grant = await signGrant(KEY, subject, {
    now: host.clock.now(),
    nonce: host.random.bytes(16),
  });
  return printEnvelope({ ...subject, grant });
}

async function run(host: MemoryHost, stdin: string) {
  const { deps, output } = memoryCli(host, { stdin });
  const code = await runGranted(deps);
  return { code, ...output };
}

Deno.test("runGranted() runs the verb of a valid envelope", async () => {
  const host = await machine();
  const output = await run(host, await envelope(host, { argv: ["agents", "list", "--json"] }));
  assert.equal(output.err, "");
  assert.equal(output.code, 0);
  assert.equal(JSON.parse(output.out).agents[0].name, "ada");
});

Deno.test("runGranted() runs for the caller of the grant, not for root", async () => {
  const host = await machine();
  const output = await run(host, await envelope(host, { argv: ["agents", "list"] }, AGENT));
  assert.match(output.out, /ada/);
  const denied = await run(
    host,
    await envelope(host, { argv: ["agents", "add", "--channel=webview", "--", "eve"] }, AGENT),
  );
  assert.equal(denied.code, 4);
  assert.match(denied.err, /operator-only/);
});

Deno.test("runGranted() accepts a grant once", async () => {
  const host = await machine();
  const text = await envelope(host, { argv: ["agents", "list"] });
  assert.equal((await run(host, text)).code, 0);
  const again = await run(host, text);
  assert.equal(again.code, 4);
  assert.match(again.err, /it was used before/);
});

Deno.test("runGranted() refuses a grant that is too old", async () => {
  const host = await machine();
  const text = await envelope(host, { argv: ["agents", "list"] });
  await host.clock.advance(31_000);
  const output = await run(host, text);
  assert.equal(output.code, 4);
  assert.match(output.err, /it has expired or is not valid yet/);
});

Deno.test("runGranted() refuses an envelope that was changed", async () => {
  const host = await machine();
  const text = await envelope(host, { argv: ["agents", "list"] }, AGENT);
  const output = await run(host, text.replace('"kind":"agent"', '"kind":"admin"'));
  assert.equal(output.code, 4);
  assert.match(output.err, /signature does not match/);
  assert.equal(output.out, "");
});

for (
  const [name, stdin] of [["nothing", ""], ["no JSON", "hello"], ["an empty object", "{}"]] as const
) {
  Deno.test(`runGranted() refuses ${name}`, async () => {
    const output = await run(await machine(), stdin);
    assert.equal(output.code, 2);
    assert.match(output.err, /the envelope is unusable/);
  });
}

Deno.test("runGranted() refuses without its key file, and names the remedy", async () => {
  const host = await machine();
  const text = await envelope(host, { argv: ["agents", "list"] });
  await host.files.remove(paths.hostOpKeys);
  const output = await run(host, text);
  assert.equal(output.code, 1);
  assert.match(output.err, /Cannot use the key file/);
  assert.match(output.err, /hint: fleetctl apply/);
  assert.ok(!output.err.includes(KEY));
});

Deno.test("runGranted() answers in JSON when JSON was requested", async () => {
  const host = await machine();
  const output = await run(
    host,
    await envelope(host, { argv: ["mcp", "wired", "--json", "--", "nobody"] }),
  );
  assert.ok(output.code !== 0);
  assert.ok(JSON.parse(output.out).error.code.length > 0);
});
