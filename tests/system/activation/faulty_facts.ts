/**
 * A typo in one file of the ledger, followed by `apply`. The agent, MCP or host of that file keeps
 * its previous facts, and nothing else is affected.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type BootedHost, poll } from "tests/support/booted_host.ts";
import { proofOf } from "tests/support/keyed_mcp.ts";
import { GATEWAY } from "tests/support/packaged_host.ts";
import { CLIENT, KEY, REPO, settled } from "tests/system/activation/host.ts";

const SHARD = `${REPO}/agents.d/ada.yaml`;
const KEYS = "/etc/fleetctl/dial-keys.json";

/**
 * Returns everything that must stay unchanged: the gateway's inputs, ada's setup, and which
 * processes run since when.
 */
async function snapshot(host: BootedHost): Promise<Readonly<Record<string, string>>> {
  const files = ["/etc/fleetctl/env/webview-gateway.env", KEYS, CLIENT]
    .concat(["/etc/fleetctl/gate/keyed.json", "/etc/fleetctl/gate/org.json"])
    .concat(["/var/lib/fleetctl/permissions/agent-ada.json", "/etc/fleetctl/env/agent-ada.env"]);
  const units = [GATEWAY, "fleetctl-dial-ada.service", "mcp-keyed-ada.socket", "mcp-org.socket"];
  const shown: Record<string, string> = {};
  for (const path of files) shown[path] = await host.read(path);
  for (const unit of units) {
    shown[unit] = await host.must(
      "systemctl",
      "show",
      "-p",
      "InvocationID,ActiveState,UnitFileState",
      unit,
    );
  }
  return shown;
}

/** Passes stdin to a program and prints its answer to the second request. */
const TALK = `coproc SERVER { exec "$@"; }
cat >&"\${SERVER[1]}"; grep -m1 '"id":2' <&"\${SERVER[0]}"`;

/** Calls the MCP through the entry in ada's client config, as her runtime does. */
async function checkServer(host: BootedHost): Promise<void> {
  const { command, args } = JSON.parse(await host.read(CLIENT)).mcpServers.keyed;
  const clientInfo = { name: "test", version: "1" };
  const messages = [
    {
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", clientInfo, capabilities: {} },
    },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/call", params: { name: "prove", arguments: {} } },
  ];
  const { out, err } = await host.exec(
    ["bash", "-c", TALK, "bash", "env", "FLEETCTL_AGENT=ada", command, ...args],
    {
      user: "ada",
      input: messages.map((each) => `${JSON.stringify({ jsonrpc: "2.0", ...each })}\n`).join(""),
    },
  );
  assert.ok(out.includes(await proofOf("KEYED_TOKEN", KEY)), out + err);
}

/** Edits a file of the ledger by hand. */
async function edit(host: BootedHost, path: string, change: (text: string) => string) {
  await Deno.writeTextFile(`${host.root}${path}`, change(await host.read(path)));
}

/** Applies with one faulty file: the report names the file, and nothing else changes. */
async function staysWith(
  host: BootedHost,
  { path, change, report }: {
    readonly path: string;
    readonly change: (text: string) => string;
    readonly report: RegExp;
  },
): Promise<void> {
  const good = await host.read(path);
  const before = await snapshot(host);
  await edit(host, path, change);
  for (let round = 1; round <= 2; round++) {
    const applied = await host.exec(["fleetctl", "apply"]);
    assert.equal(applied.code, 1, applied.out + applied.err);
    assert.match(applied.err, report);
    assert.match(applied.err, /its version of commit [0-9a-f]{12}/);
    assert.match(applied.out, /^unchanged +\d+ files\n$/);
    assert.deepEqual(await snapshot(host), before);
  }
  await checkServer(host);
  await edit(host, path, () => good);
  await settled(host);
  assert.deepEqual(await snapshot(host), before);
}

/** Breaks one shard, one manifest and one host file, one after the other. */
export async function checkFaultyFacts(host: BootedHost): Promise<void> {
  await host.must("fleetctl", "mcp", "add", "org", "ada");
  await host.must("fleetctl", "apply");
  await poll(
    "enrolled key of ada",
    async () => (await host.read(KEYS)).includes('"ada"') ? true : undefined,
  );
  // A valid manual edit counts from the first apply on, although no verb has recorded it.
  await edit(host, SHARD, (text) => text.replace("ada@example.org", "ada@example.net"));
  await host.must("fleetctl", "apply");
  await host.must("fleetctl", "agents", "restart", "ada");
  await settled(host);
  await staysWith(host, {
    path: SHARD,
    change: (text) => `${text.replace("dial_keys:", "dail_keys:")}colour: red\n`,
    report: /agents\.d\/ada\.yaml:\d+.*colour/,
  });
  await staysWith(host, {
    path: `${REPO}/catalog/keyed/mcp.yaml`,
    change: (text) => text.replace("summary:", "sumary:"),
    report: /keyed\/mcp\.yaml:\d+.*sumary/,
  });
  await staysWith(host, {
    path: `${REPO}/hosts.d/helios.yaml`,
    change: (text) => `${text}colour: red\n`,
    report: /hosts\.d\/helios\.yaml:\d+.*colour/,
  });
  // An agent or MCP that keeps its previous facts can still be removed as usual.
  await edit(host, SHARD, (text) => text.replace("example.net", "example.org"));
  await host.must("fleetctl", "mcp", "remove", "org", "ada");
  await host.must("fleetctl", "apply");
  await settled(host);
}
