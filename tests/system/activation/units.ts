/**
 * Units that fail to start, or are requested too often.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { BootedHost } from "tests/support/booted_host.ts";
import { GATEWAY } from "tests/support/packaged_host.ts";
import { checkCall, settled } from "tests/system/activation/host.ts";

/** Writes a drop-in. It belongs to the host: `apply` neither writes nor removes it. */
async function override(
  host: BootedHost,
  unit: string,
  command: string,
  more = "",
): Promise<void> {
  const folder = `/etc/systemd/system/${unit}.d`;
  await host.must("mkdir", "-p", folder);
  await Deno.writeTextFile(
    `${host.root}${folder}/broken.conf`,
    `[Service]\nExecStart=\nExecStart=${command}\n${more}`,
  );
  await host.must("systemctl", "daemon-reload");
}

async function repair(host: BootedHost, unit: string): Promise<void> {
  await host.must("rm", "-r", `/etc/systemd/system/${unit}.d`);
  await host.must("systemctl", "daemon-reload");
}

/** A role that exits at once, repeatedly. systemd itself counts each attempt as started. */
export async function checkDyingRole(host: BootedHost): Promise<void> {
  const words = '/bin/sh -c "echo no database today >&2; sleep 0.2; exit 1"';
  await override(host, GATEWAY, words);
  await host.must("systemctl", "stop", GATEWAY);
  const failed = await host.exec(["fleetctl", "apply"]);
  assert.equal(failed.code, 1, failed.out);
  assert.match(failed.err, /Cannot start fleetctl-gateway\.service: it ended before it was ready/);
  assert.match(failed.err, /no database today/);
  assert.match(failed.err, /^hint: journalctl -u fleetctl-gateway\.service -n 50$/m);
  await repair(host, GATEWAY);
  await host.must("systemctl", "restart", GATEWAY);
  await host.must("fleetctl", "apply");
  await settled(host);
}

/**
 * A role that runs but never serves. `apply` waits as long as the unit's timeout. It prints the end
 * of the journal and the command to run, and completes the rest. Each later run reports it again,
 * and `apply` converges once the role is fixed.
 */
export async function checkHangingRole(host: BootedHost): Promise<void> {
  const words = [
    ["waiting for the disk", '/bin/sh -c "echo waiting for the disk; exec sleep infinity"'],
    ["Started fleetctl-gateway.service", "/bin/sleep infinity"],
  ] as const;
  for (const [last, command] of words) {
    await override(host, GATEWAY, command, "TimeoutStartSec=3\n");
    await host.must("systemctl", "stop", GATEWAY, "mcp-keyed-ada.socket");
    for (const time of ["the first time", "again"]) {
      const failed = await host.exec(["fleetctl", "apply"]);
      assert.equal(failed.code, 1, `${time}: ${failed.out}`);
      assert.match(
        failed.err,
        /Cannot start fleetctl-gateway\.service: it was not ready within 3 s/,
      );
      assert.ok(failed.err.includes(last), failed.err);
      assert.match(failed.err, /^hint: journalctl -u fleetctl-gateway\.service -n 50$/m);
      await host.must("systemctl", "is-active", "mcp-keyed-ada.socket");
    }
    await repair(host, GATEWAY);
    const mended = await host.must("fleetctl", "apply");
    assert.match(mended, /^restarted +fleetctl-gateway\.service$/m);
    await settled(host);
  }
}

/** A socket whose path is taken: the MCP is down, everything else runs on, and doctor names it. */
export async function checkBrokenSocket(host: BootedHost): Promise<void> {
  await host.must("systemctl", "stop", "mcp-keyed-ada.socket");
  await host.must("mkdir", "-p", "/run/mcp/keyed-ada.sock/inside");
  const failed = await host.exec(["fleetctl", "apply"]);
  assert.equal(failed.code, 1, failed.out);
  assert.match(failed.err, /Cannot start mcp-keyed-ada\.socket/);
  assert.match(failed.err, /^hint: journalctl -u mcp-keyed-ada\.socket -n 50$/m);
  const doctor = await host.exec(["fleetctl", "mcp", "doctor", "keyed", "self"], { user: "ada" });
  assert.equal(doctor.code, 1);
  assert.match(doctor.out, /unit +failed/);
  await host.must("rm", "-r", "/run/mcp/keyed-ada.sock");
  await host.must("fleetctl", "apply");
  await checkCall(host);
}

/** Checks that a burst of hundreds of connections does not put a shared socket out of service. */
export async function checkBurst(host: BootedHost): Promise<void> {
  await host.must("fleetctl", "mcp", "add", "org", "ada");
  const burst = `for i in $(seq 300); do
    socat -u OPEN:/dev/null UNIX-CONNECT:/run/mcp/org.sock 2>/dev/null & done; wait; true`;
  await host.exec(["bash", "-c", burst], { user: "ada" });
  await host.must("systemctl", "is-active", "mcp-org.socket");
  const words = ["fleetctl", "mcp", "read", "org", "prove"];
  for (let left = 20;; left--) {
    const ended = await host.exec(words, { user: "ada" });
    if (ended.code === 0) break;
    // The servers of the burst are still ending.
    assert.ok(left > 0, ended.err);
  }
  await host.must("fleetctl", "mcp", "remove", "org", "ada");
}
