/**
 * Everything below /usr belongs to the package: nothing is rendered there, and it may be mounted
 * read-only. An upgrade moves away what older versions rendered there.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DIAL, installPackage, PackagedHost } from "tests/support/packaged_host.ts";
import { REPOSITORY } from "tests/system/package/servers.ts";

const SETS = "/var/lib/fleetctl/permissions";

/** Rewrites every rendered file that names a permission set to the layout of an older version. */
const TO_OLDER_LAYOUT = `
set -e
cd ${SETS}
cp host.json /usr/lib/fleetctl/permissions.json
for file in agent-*.json; do cp "$file" "/usr/lib/fleetctl/permissions-\${file#agent-}"; done
sed -i -e 's#${SETS}/host.json#/usr/lib/fleetctl/permissions.json#g' \\
  -e 's#${SETS}/agent-#/usr/lib/fleetctl/permissions-#g' \\
  /etc/systemd/system/*.service /var/lib/fleetctl/rendered.json /home/*/.runtime-b/agent/mcp.json
systemctl daemon-reload
`;

/** Checks that agents work after the upgrade, and that no file of the older layout remains. */
export async function checkOlderLayout(
  scene: PackagedHost,
  out: string,
  hash: string,
): Promise<void> {
  await scene.must("sh", "-c", TO_OLDER_LAYOUT);
  // After this restart the unit's environment and the agent's client entries name the older folder.
  await scene.must("systemctl", "restart", DIAL);
  await scene.untilLogged(DIAL, "gateway connected");
  await scene.must("rm", "-r", SETS);
  await installPackage(scene.host, out);
  const { answer } = await scene.turn(`last commit of ${REPOSITORY}`);
  assert.ok(answer.includes(hash), answer);
  assert.equal(await verified(scene), "");
  assert.deepEqual(await names(scene, "/usr/lib/fleetctl/permissions*"), ["permissions.json"]);
  assert.deepEqual(await names(scene, `${SETS}/*`), [
    "agent-ada.json",
    "agent-bob.json",
    "host.json",
  ]);
  assert.match(await scene.must("fleetctl", "status"), /nothing is wrong/);
}

/** Mounts /usr read-only, also after a reboot. */
const READ_ONLY_USR = `
cat > /etc/systemd/system/read-only-usr.service <<'UNIT'
[Unit]
DefaultDependencies=no
Before=sysinit.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'mountpoint -q /usr || mount --bind /usr /usr; mount -o remount,bind,ro /usr'
[Install]
WantedBy=sysinit.target
UNIT
systemctl enable --quiet read-only-usr
systemctl start read-only-usr
`;

/** Installs and removes every role, adds and removes an agent; /usr stays as shipped. */
export async function checkReadOnlyUsr(scene: PackagedHost): Promise<void> {
  await scene.must("sh", "-c", READ_ONLY_USR);
  assert.notEqual((await scene.run(["touch", "/usr/lib/fleetctl/x"])).code, 0);
  const users = ["secret", "set", "WEBVIEW_BASIC_USERS", "--value", "ada@example.org:a long one"];
  await scene.must("fleetctl", ...users);
  await scene.must("fleetctl", "webview-login", "install", "--driver", "basic");
  await scene.must("fleetctl", "teams-gateway", "install");
  await scene.must(
    "fleetctl",
    "agents",
    "add",
    "eva",
    "--channel",
    "webview",
    "--user-email",
    "eva@example.org",
  );
  await scene.must("fleetctl", "mcp", "add", "git", "eva");
  await scene.must("fleetctl", "apply");
  for (const role of ["gateway", "login", "teamchat", "host", "daemon", "dial-eva"]) {
    const unit = `fleetctl-${role}.service`;
    assert.equal(await scene.property(unit, "ActiveState"), "active", unit);
  }
  // The daemon acts for an agent; its unit may never write below /usr.
  for (const line of ["mcp remove git self", "mcp add git self"]) {
    const ended = await scene.ada(line);
    assert.equal(ended.code, 0, ended.err);
  }
  assert.equal(await verified(scene), "");
  await scene.must("fleetctl", "agents", "remove", "eva", "--yes");
}

/** Removing a role leaves its data; the gateway returns with its transcripts. */
export async function checkRoleRemoval(scene: PackagedHost): Promise<void> {
  const gateway = await scene.run(["fleetctl", "webview-gateway", "remove"]);
  assert.match(gateway.err, /the login proxy of this host is in front of it/);
  await scene.must("fleetctl", "webview-login", "remove", "--delete-state", "--yes");
  await scene.must("fleetctl", "teams-gateway", "remove");
  await scene.must("fleetctl", "webview-gateway", "remove", "--despite-waiting");
  const units = ["fleetctl-gateway", "fleetctl-login", "fleetctl-teamchat"];
  const left = await scene.must(
    "systemctl",
    "list-units",
    "--all",
    "--plain",
    "--no-legend",
    ...units.map((u) => `${u}*`),
  );
  assert.equal(left, "");
  const state = (role: string) => scene.run(["test", "-d", `/var/lib/fleetctl/${role}`]);
  const codes = await Promise.all(["gateway", "login", "teamchat"].map(state));
  assert.deepEqual(codes.map(({ code }) => code), [0, 1, 0]);
  // The agents restart without an address to dial; then nothing is left to do.
  await scene.must("fleetctl", "apply");
  assert.match(await scene.must("fleetctl", "apply"), /^unchanged/);
  await scene.must("fleetctl", "webview-gateway", "install");
  await scene.must("fleetctl", "apply");
}

/** Returns what `dpkg --verify` finds changed in the package. */
async function verified(scene: PackagedHost): Promise<string> {
  const { out, err } = await scene.run(["dpkg", "--verify", "fleetctl"]);
  return out + err;
}

async function names(scene: PackagedHost, pattern: string): Promise<readonly string[]> {
  const found = await scene.must("sh", "-c", `ls -d ${pattern}`);
  return found.trim().split("\n").map((path) => path.slice(path.lastIndexOf("/") + 1)).sort();
}
