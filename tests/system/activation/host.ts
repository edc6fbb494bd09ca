/**
 * A booted host with its own gateway, agent and MCP: what `apply` leaves, and a call that works.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { BootedHost } from "tests/support/booted_host.ts";
import { installKeyed, proofOf } from "tests/support/keyed_mcp.ts";
import { installPackage } from "tests/support/packaged_host.ts";

/** The ledger of the host. */
export const REPO = "/var/lib/fleetctl/repo";
/** The client config that ada's runtime reads. */
export const CLIENT = "/home/ada/.runtime-b/agent/mcp.json";
/** The value of every key. */
export const KEY = "a key";
/** A catalog entry without any requirements. */
export const BROWSER = "name: browser\nsummary: Stands in\nsource: {builtin: agent-message}\n" +
  "auth: none\nscope: per_user\n";

/** Installs everything on the host. */
export async function setUp(host: BootedHost, out: string): Promise<void> {
  await installPackage(host, out);
  await host.must("fleetctl", "webview-gateway", "install");
  await Deno.mkdir(`${host.root}${REPO}/catalog/browser`, { recursive: true });
  await Deno.writeTextFile(`${host.root}${REPO}/catalog/browser/mcp.yaml`, BROWSER);
  await installKeyed(host.root, [
    { name: "keyed", key: "KEYED_TOKEN", scope: "per_user" },
    { name: "org", key: "ORG_TOKEN", scope: "shared" },
  ]);
  const owner = ["--user-email", "ada@example.org"];
  await host.must("fleetctl", "agents", "add", "ada", "--channel", "webview", ...owner);
  for (const words of [["KEYED_TOKEN", "--agent", "ada"], ["ORG_TOKEN"]]) {
    const set = ["fleetctl", "secret", "set", ...words, "--value", "-"];
    assert.equal((await host.exec(set, { input: KEY })).code, 0);
  }
  await host.must("fleetctl", "mcp", "add", "keyed", "ada");
  await host.must("fleetctl", "apply");
  await settled(host);
}

/** Fails when `apply` would still change something. */
export async function settled(host: BootedHost): Promise<void> {
  assert.match(await host.must("fleetctl", "apply"), /^unchanged/);
}

/** Calls the MCP, which proves that it has its key. */
export async function checkCall(host: BootedHost): Promise<void> {
  const { code, out, err } = await host.exec(
    ["fleetctl", "mcp", "read", "keyed", "prove"],
    { user: "ada" },
  );
  assert.equal(code, 0, err);
  assert.ok(out.startsWith(await proofOf("KEYED_TOKEN", KEY)), out);
}
