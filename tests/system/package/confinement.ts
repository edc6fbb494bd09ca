/**
 * What the kernel and systemd enforce: the owners of files and processes, what a server may write,
 * and which sockets and files an agent cannot open. A unit without a private /tmp must be reported.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DAEMON, DIAL, GATEWAY, PackagedHost } from "tests/support/packaged_host.ts";

/** Distinguishes a refusal by the kernel from every other failure. */
const CONNECT = `
  try { (await Deno.connect({ transport: "unix", path: Deno.args[0] })).close(); }
  catch (thrown) { console.log(thrown.name); Deno.exit(1); }
`;

/** Checks that files and processes have the right owners. */
export async function checkOwners(scene: PackagedHost): Promise<void> {
  const wanted: Readonly<Record<string, string>> = {
    "/home/ada": "700 ada:ada",
    "/home/ada/.runtime-b/agent/mcp.json": "600 ada:ada",
    "/etc/fleetctl/env/agent-ada.env": "640 root:ada",
    "/etc/fleetctl/env/agent-bob.env": "640 root:bob",
    "/etc/fleetctl/env/mcp-shared.env": "640 root:agents",
    "/etc/fleetctl/env/webview-gateway.env": "640 root:fleetctl-gateway",
    "/etc/fleetctl/host.key": "600 root:root",
    "/etc/fleetctl/host-op.env": "600 root:root",
    "/var/lib/fleetctl/repo/secrets.age": "600 root:root",
    "/var/lib/fleetctl/gateway": "700 fleetctl-gateway:fleetctl-gateway",
    "/run/mcp/git-ada.sock": "600 ada:ada",
    "/run/fleetctl/fleetctl.sock": "666 root:root",
  };
  const found: Record<string, string> = {};
  for (const path of Object.keys(wanted)) found[path] = await scene.modeOf(path);
  assert.deepEqual(found, wanted);
  assert.ok(Number(await scene.must("id", "-u", "ada")) >= 1000);
  assert.match(await scene.must("id", "-nG", "ada"), /^ada agents$/m);
  for (
    const [unit, user] of [[DAEMON, "root"], [GATEWAY, "fleetctl-gateway"], [DIAL, "ada"]] as const
  ) {
    const pid = await scene.property(unit, "MainPID");
    assert.equal(await scene.ownerOfProcess(pid), user, unit);
  }
}

const PRIVATE = [
  "/etc/fleetctl/host.key",
  "/etc/fleetctl/host-op.env",
  "/etc/fleetctl/env/agent-bob.env",
  "/etc/fleetctl/env/webview-gateway.env",
  "/var/lib/fleetctl/repo/secrets.age",
  "/var/lib/fleetctl/repo/agents.d",
  "/var/lib/fleetctl/repo/.git/HEAD",
  "/var/lib/fleetctl/daemon",
  "/var/lib/fleetctl/gateway",
  "/var/lib/fleetctl/rendered.json",
  "/var/log/fleetctl",
  "/home/bob",
];

/** Checks that the agent cannot read files of others. */
export async function checkUnreadable(scene: PackagedHost): Promise<void> {
  const script =
    'for p; do if [ -d "$p" ]; then ls "$p"; else cat "$p"; fi && echo "open: $p"; done';
  const ended = await scene.run(["sh", "-c", script, "sh", ...PRIVATE], { user: "ada" });
  assert.doesNotMatch(ended.out, /^open: /m);
  assert.equal(ended.err.match(/Permission denied/g)?.length, PRIVATE.length, ended.err);
}

/** The kernel refuses the socket of a server to everyone but its agent. */
export async function checkSocket(scene: PackagedHost): Promise<void> {
  const connect = (user: string) =>
    scene.run(["/usr/lib/fleetctl/deno", "eval", "--no-config", CONNECT, "/run/mcp/git-ada.sock"], {
      user,
    });
  for (const user of ["bob", "fleetctl-gateway"]) {
    const ended = await connect(user);
    assert.deepEqual([ended.code, ended.out.trim()], [1, "PermissionDenied"], user + ended.err);
  }
  const own = await connect("ada");
  assert.equal(own.code, 0, own.out + own.err);
}

/** A unit that starts while /tmp has no free entries gets a read-only /tmp, which is reported. */
export async function checkTmpWithoutEntries(scene: PackagedHost): Promise<void> {
  const options = "mode=1777,size=8m,nr_inodes=200";
  await scene.must("mount", "-t", "tmpfs", "-o", options, "tmpfs", "/tmp");
  await scene.run(["sh", "-c", "i=0; while : > /tmp/$i; do i=$((i+1)); done 2> /dev/null"]);
  await scene.must("fleetctl", "agents", "restart", "ada");
  const pid = await scene.property(DIAL, "MainPID");
  const inside = await scene.run(["nsenter", "-t", pid, "-m", "--", "touch", "/tmp/x"]);
  assert.match(inside.err, /Read-only file system/);
  const report = await scene.run(["fleetctl", "doctor"]);
  assert.match(report.err, /The disk at "\/tmp" has no entries \(inodes\) left of 200, must have/);
  assert.match(
    report.err,
    /^ *\/tmp: a unit that starts while the disk is full gets a read-only one$/m,
  );
  assert.equal(report.code, 1);
  await scene.must("umount", "-l", "/tmp");
  await scene.must("fleetctl", "agents", "restart", "ada");
  await scene.untilLogged(DIAL, "gateway connected");
  assert.match(await scene.must("fleetctl", "doctor"), /setting/);
}
