/**
 * The life of a package on its host: set up by an operator, reinstalled, its gateway restarted,
 * removed and purged.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  DAEMON,
  DIAL,
  GATEWAY,
  installPackage,
  PackagedHost,
  ROLES,
} from "tests/support/packaged_host.ts";
import { type Purged, purgeWithCopy } from "tests/system/package/purge.ts";

/** Undoes `checkReadOnlyUsr`, because dpkg removes files of /usr. */
const USR_WRITABLE = "systemctl disable --quiet read-only-usr && mount -o remount,bind,rw /usr";

/** Sets up two agents and an MCP; afterwards `apply` has nothing left to do. */
export async function setUp(scene: PackagedHost): Promise<void> {
  assert.match(await scene.must("fleetctl", "--version"), /^fleetctl \d+\.\d+\.\d+\n$/);
  await Deno.writeTextFile(`${scene.host.root}/etc/fleetctl/roles.yaml`, ROLES);
  for (const name of ["ada", "bob"]) {
    await scene.must(
      "fleetctl",
      "agents",
      "add",
      name,
      "--channel",
      "webview",
      "--user-email",
      `${name}@example.org`,
    );
  }
  await scene.must("fleetctl", "mcp", "add", "git", "ada");
  await scene.must("fleetctl", "apply");
  assert.match(await scene.must("fleetctl", "apply"), /^unchanged +\d+ files\n/);
  assert.match(await scene.must("fleetctl", "status"), /nothing is wrong/);
  const failed = await scene.must(
    "systemctl",
    "list-units",
    "--failed",
    "--plain",
    "--no-legend",
    "fleetctl-*",
    "mcp-*",
  );
  assert.equal(failed, "");
}

/** Checks that reinstalling the same package restarts nothing. */
export async function checkUpgrade(scene: PackagedHost, out: string): Promise<void> {
  const before = await scene.property(DIAL, "MainPID");
  await installPackage(scene.host, out);
  assert.equal(await scene.property(DIAL, "MainPID"), before);
  assert.equal(await scene.property(DAEMON, "ActiveState"), "active");
}

/** Checks that the agents survive a restart of their gateway. */
export async function checkGatewayRestart(scene: PackagedHost): Promise<void> {
  const runtime = ["pgrep", "-u", "ada", "-f", "fleetctl-runtime"];
  const before = [await scene.property(DIAL, "MainPID"), await scene.must(...runtime)];
  const gateway = await scene.property(GATEWAY, "MainPID");
  await scene.must("systemctl", "restart", GATEWAY);
  assert.notEqual(await scene.property(GATEWAY, "MainPID"), gateway);
  assert.match((await scene.turn("what can you do")).answer, /demo/i);
  assert.deepEqual([await scene.property(DIAL, "MainPID"), await scene.must(...runtime)], before);
}

/** Checks that removing stops everything, and that purging leaves the homes. */
export async function checkRemoval(scene: PackagedHost, out: string): Promise<Purged> {
  await scene.must("sh", "-c", USR_WRITABLE);
  const running = async () => {
    const units = await scene.must(
      "systemctl",
      "list-units",
      "--plain",
      "--no-legend",
      "--state=active,activating,failed",
      "fleetctl-*",
      "mcp-*",
    );
    const { out } = await scene.run(["sh", "-c", "ps -eo args | grep '[l]ib/fleetctl'"]);
    return units + out;
  };
  const isThere = async (path: string) => (await scene.run(["test", "-e", path])).code === 0;
  assert.notEqual(await running(), "");
  await scene.must("dpkg", "-r", "fleetctl");
  assert.equal(await running(), "");
  assert.ok(await isThere("/var/lib/fleetctl/repo/secrets.age"), "removing keeps the fleet");
  await installPackage(scene.host, out);
  const purged = await purgeWithCopy(scene);
  assert.equal(await running(), "");
  for (
    const path of ["/etc/fleetctl", "/var/lib/fleetctl", "/usr/lib/fleetctl", "/usr/bin/fleetctl"]
  ) {
    assert.ok(!await isThere(path), path);
  }
  assert.equal(
    await scene.must("sh", "-c", "find /etc/systemd -name '*fleetctl*' -o -name 'mcp-*'"),
    "",
  );
  assert.ok(await isThere("/home/ada/.bashrc"), "homes belong to their users");
  return purged;
}
