/**
 * Manual edits of files: `apply` restores the product's files and leaves the owner's content.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { BootedHost } from "tests/support/booted_host.ts";
import { checkCall, CLIENT, settled } from "tests/system/activation/host.ts";

/** Checks that `apply` restores the product's content and keeps the owner's. */
export async function checkHandEdits(host: BootedHost): Promise<void> {
  const config = JSON.parse(await host.read(CLIENT));
  config.mcpServers.own = { command: "/usr/bin/my-server" };
  config.mcpServers.keyed.command = "/usr/bin/evil";
  config.theirs = { kept: [1, 2.50] };
  await Deno.writeTextFile(`${host.root}${CLIENT}`, JSON.stringify(config));
  const edits: Readonly<Record<string, string>> = {
    "/etc/systemd/system/mcp-keyed-ada@.service": "[Service]\nExecStart=/bin/false\n",
    "/etc/fleetctl/env/agent-ada.env": "KEYED_TOKEN=stolen\n",
    "/etc/fleetctl/gate/keyed.json": "{}",
    "/var/lib/fleetctl/permissions/agent-ada.json": "{}",
  };
  for (const [path, text] of Object.entries(edits)) {
    await Deno.writeTextFile(`${host.root}${path}`, text);
  }
  await host.must("chmod", "0666", "/etc/fleetctl/env/agent-ada.env");
  const dry = await host.exec(["fleetctl", "apply", "--dry-run"]);
  for (const path of Object.keys(edits)) assert.ok(dry.out.includes(`updated    ${path}`), dry.out);
  assert.match(dry.out, /~KEYED_TOKEN/);
  assert.doesNotMatch(dry.out, /stolen|a key/);
  const applied = await host.exec(["fleetctl", "apply"]);
  // An entry under the product's name that no longer starts the proxy belongs to the owner.
  const isForeign = /client-entry-foreign|has an entry of that name that fleetctl did not create/
    .test(
      applied.err,
    );
  assert.equal(applied.code, isForeign ? 1 : 0, applied.err);
  const after = JSON.parse(await host.read(CLIENT));
  assert.deepEqual(after.mcpServers.own, { command: "/usr/bin/my-server" });
  assert.deepEqual(after.theirs, { kept: [1, 2.5] });
  assert.equal(
    (await host.must("stat", "-c", "%a %U:%G", "/etc/fleetctl/env/agent-ada.env")).trim(),
    "640 root:ada",
  );
  await host.must("fleetctl", "apply");
  await settled(host);
  assert.match(JSON.parse(await host.read(CLIENT)).mcpServers.keyed.command, /fleetctl-mcp$/);
  await checkCall(host);
}

/**
 * The host's own defaults, edited by hand: valid ones are followed, invalid ones are reported and
 * never guessed.
 */
export async function checkDefaults(host: BootedHost): Promise<void> {
  const file = `${host.root}/etc/fleetctl/defaults.yaml`;
  await Deno.writeTextFile(file, "# ours\ntools: [org] # for all\n");
  assert.match(await host.must("fleetctl", "apply"), /mcp-org\.socket/);
  await host.must("systemctl", "is-active", "mcp-org.socket");
  const before = await host.read(CLIENT);
  for (
    const [text, said] of [
      ["tools: [org, no-such]\n", /no-such/],
      ["tools: org\n", /defaults\.yaml:1.*tools/],
      ["colour: red\n", /defaults\.yaml:1.*colour/],
      ["tools: [\n", /defaults\.yaml/],
    ] as const
  ) {
    await Deno.writeTextFile(file, text);
    const applied = await host.exec(["fleetctl", "apply"]);
    assert.equal(applied.code, 1, text + applied.out);
    assert.match(applied.err, said);
    assert.equal(await host.read(CLIENT), before, `${text}: the client config stays`);
    await host.must("systemctl", "is-active", "mcp-org.socket");
  }
  await Deno.remove(file);
  await host.must("fleetctl", "apply");
  await settled(host);
  assert.notEqual((await host.exec(["systemctl", "is-active", "mcp-org.socket"])).code, 0);
}
