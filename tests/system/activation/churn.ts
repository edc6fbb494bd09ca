/**
 * Kills verbs and reboots hosts in the middle of them: 3 kills and 2 reboots by default.
 * FLEETCTL_ROUNDS and FLEETCTL_REBOOTS override these numbers.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { BootedHost } from "tests/support/booted_host.ts";
import { DAEMON } from "tests/support/packaged_host.ts";
import { checkCall, CLIENT, REPO, settled } from "tests/system/activation/host.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "3");
/** Number of reboots; docs/benchmarks.md has the outcome of 20. */
const REBOOTS = Math.min(ROUNDS, Number(Deno.env.get("FLEETCTL_REBOOTS") ?? "2"));

/** Verbs that change the host in a loop while the daemon and everything it runs are killed. */
const CHURN = `
( fleetctl mcp add org ada; fleetctl mcp remove keyed ada; fleetctl mcp add keyed ada; \\
  fleetctl mcp remove org ada ) >/dev/null 2>&1 &
sleep "$1"; systemctl kill -s KILL --kill-who=all ${DAEMON}; wait; true`;

/**
 * The same verbs, each logged to disk after it succeeds, until one fails. They continue while the
 * host goes down.
 */
const LOGGED = `
: > /var/lib/churn; sync
note() { fleetctl mcp "$1" "$2" ada >/dev/null 2>&1 && { echo "$1 $2" >> /var/lib/churn; sync; }; }
( note add org && note remove keyed && note remove org && note add keyed ) &
sleep "$1"; true`;

/** Kills the daemon with everything it runs, then checks the state that the next `apply` leaves. */
export async function checkKills(host: BootedHost): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    await host.exec(["bash", "-c", CHURN, "bash", String(0.3 + (round * 37 % 300) / 100)]);
    await host.must("fleetctl", "apply");
    await settled(host);
    await checkAgrees(host);
  }
}

/**
 * Reboots at a random moment of the same verbs; FLEETCTL_SEED repeats a sequence. Everything
 * acknowledged before survives: the result of the last verb that ended, and all that no verb
 * touched.
 */
export async function checkReboots(host: BootedHost): Promise<void> {
  let seed = Number(Deno.env.get("FLEETCTL_SEED") ?? "7");
  for (let round = 0; round < REBOOTS; round++) {
    seed = (seed * 48_271) % 2_147_483_647;
    await host.exec(["bash", "-c", LOGGED, "bash", String(0.2 + (seed % 2_600) / 1_000)]);
    await host.reboot();
    // Read now: the loop went on until the host was down.
    const acknowledged = (await host.read("/var/lib/churn")).trim().split("\n").at(-1) ?? "";
    const applied = await host.exec(["fleetctl", "apply"]);
    assert.equal(applied.code, 0, `seed ${seed}, after "${acknowledged}": ${applied.err}`);
    await settled(host);
    await checkAgrees(host);
    const [verb = "", mcp = ""] = acknowledged.split(" ");
    const shard = await host.read(`${REPO}/agents.d/ada.yaml`);
    const isThere = new RegExp(`^ +- ${mcp}$`, "m").test(shard);
    // The next verb may have been recorded before the reboot. It concerns the other MCP.
    if (mcp !== "") {
      assert.equal(isThere, verb === "add", `seed ${seed}: ${acknowledged}\n${shard}`);
    }
    await host.exec(["fleetctl", "mcp", "add", "keyed", "ada"]);
    await checkCall(host);
    await host.exec(["fleetctl", "mcp", "remove", "org", "ada"]);
    assert.match((await host.exec(["fleetctl", "status"])).out, /ada/);
  }
}

/** Checks that ledger, client config, sockets and doctor agree on both MCPs. */
async function checkAgrees(host: BootedHost): Promise<void> {
  const { mcpServers } = JSON.parse(await host.read(CLIENT));
  const shard = await host.read(`${REPO}/agents.d/ada.yaml`);
  for (
    const [mcp, unit] of [["keyed", "mcp-keyed-ada.socket"], ["org", "mcp-org.socket"]] as const
  ) {
    const isWired = new RegExp(`^ +- ${mcp}$`, "m").test(shard);
    assert.equal(mcp in mcpServers, isWired, `${mcp}: client config`);
    const { out } = await host.exec(["systemctl", "is-active", unit]);
    assert.equal(out.trim() === "active", isWired, `${mcp}: ${unit} is ${out}`);
  }
}
