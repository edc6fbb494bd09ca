/**
 * Calls on a healthy host: relayed reads of a peer, and servers that run only while a client is
 * connected.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type BootedHost, poll } from "tests/support/booted_host.ts";
import { proofOf } from "tests/support/keyed_mcp.ts";
import { BROWSER, checkCall, CLIENT, KEY, REPO } from "tests/system/activation/host.ts";

/**
 * An admin agent reads as a peer through the daemon, under the peer's account and with the peer's
 * key. It may read only what the reviewed catalog marks read-only, and `mcp call` is refused.
 */
export async function checkRelayed(host: BootedHost): Promise<void> {
  const owner = ["--user-email", "chief@example.org"];
  await host.must("fleetctl", "agents", "add", "chief", "--channel", "webview", ...owner);
  const shard = `${host.root}${REPO}/agents.d/chief.yaml`;
  await Deno.writeTextFile(shard, `${await Deno.readTextFile(shard)}admin: true\n`);
  await host.must("fleetctl", "mcp", "add", "keyed", "ada");
  await host.must("fleetctl", "apply");
  const asChief = (verb: string) =>
    host.exec(["fleetctl", "mcp", verb, "keyed", "prove", "ada"], { user: "chief" });
  const refused = await asChief("read");
  assert.equal(refused.code, 4, refused.out);
  assert.match(refused.err, /the reviewed catalog does not declare it read-only/);
  const call = await asChief("call");
  assert.equal(call.code, 4);
  assert.match(call.err, /only root may call across agents/);
  const manifest = `${host.root}${REPO}/catalog/keyed/mcp.yaml`;
  const text = await Deno.readTextFile(manifest);
  await Deno.writeTextFile(manifest, `${text}tools: { prove: { read_only: true } }\n`);
  await host.must("fleetctl", "apply");
  const read = await asChief("read");
  assert.equal(read.code, 0, read.err);
  assert.ok(read.out.startsWith(await proofOf("KEYED_TOKEN", KEY)), read.out);
  const uid = (await host.must("id", "-u", "ada")).trim();
  assert.match(read.out, new RegExp(`uid ${uid}$`, "m"), "it ran as ada");
  const rows = await host.must("fleetctl", "audit", "list", "--caller", "chief");
  assert.match(rows, /mcp read/);
}

/** Returns the running MCP servers and proxies, by unit and by program. */
async function runningMcps(host: BootedHost): Promise<string> {
  const units = "systemctl list-units --plain --no-legend --state=running,start 'mcp-*.service'";
  const { out } = await host.exec(["sh", "-c", `${units}; pgrep -af '[f]leetctl-mcp' || true`]);
  return out.trim();
}

/** Checks that 22 sockets listen without any process behind them until a client calls. */
export async function checkIdle(host: BootedHost): Promise<void> {
  const names = Array.from({ length: 20 }, (_, at) => `spare-${at}`);
  for (const name of names) {
    const folder = `${host.root}${REPO}/catalog/${name}`;
    await Deno.mkdir(folder, { recursive: true });
    const manifest = BROWSER.replace("name: browser", `name: ${name}`);
    await Deno.writeTextFile(`${folder}/mcp.yaml`, manifest);
  }
  await Deno.writeTextFile(`${host.root}/etc/fleetctl/defaults.yaml`, `tools: [${names}]\n`);
  await host.must("fleetctl", "mcp", "add", "keyed", "ada");
  await host.must("fleetctl", "apply");
  await host.must("fleetctl", "agents", "restart", "ada");
  const { mcpServers } = JSON.parse(await host.read(CLIENT));
  assert.ok(Object.keys(mcpServers).length >= 22, Object.keys(mcpServers).join());
  for (const name of [...names, "keyed"]) {
    const { out } = await host.exec(["systemctl", "is-active", `mcp-${name}-ada.socket`]);
    assert.equal(out.trim(), "active", name);
  }
  assert.equal(await runningMcps(host), "");
  await checkCall(host);
  // While a client is connected, the same search finds the processes.
  const socket = "UNIX-CONNECT:/run/mcp/keyed-ada.sock";
  const holding = host.exec(["sh", "-c", `sleep 600 | socat - ${socket}`], { user: "ada" });
  await poll(
    "a server for a connection",
    async () => (await runningMcps(host)).includes("mcp-keyed-ada") ? true : undefined,
  );
  await host.exec(["pkill", "-u", "ada", "-x", "socat|sleep"]);
  await holding;
  await poll(
    "the server of a call to end with it",
    async () => await runningMcps(host) === "" ? true : undefined,
  );
}
