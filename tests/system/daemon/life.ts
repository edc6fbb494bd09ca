/**
 * The life of an agent on a real host: stopped and still stopped after a reboot, started, removed
 * with its user, and added again.
 *
 * @module
 */

import assert from "node:assert/strict";
import { poll } from "tests/support/booted_host.ts";
import type { DaemonScene } from "tests/system/daemon/scene.ts";

const DIAL_BOB = "fleetctl-dial-bob.service";

interface Shown {
  readonly state: string;
  readonly reason: string | null;
  readonly since: string | null;
  readonly gateway: string;
}

async function show(scene: DaemonScene, agent: string): Promise<Shown> {
  return JSON.parse(await scene.must("fleetctl", "agents", "show", agent, "--json")) as Shown;
}

async function untilState(scene: DaemonScene, agent: string, state: string): Promise<Shown> {
  return await poll(`agent ${agent} that is ${state}`, async () => {
    const shown = await show(scene, agent);
    return shown.state === state ? shown : undefined;
  });
}

/** A stopped agent stays stopped across apply and a reboot, as the state of its unit proves. */
export async function stopAndBoot(scene: DaemonScene): Promise<void> {
  const idle = await untilState(scene, "bob", "idle");
  assert.match(idle.since ?? "", /^20/);
  await scene.must("fleetctl", "agents", "stop", "bob");
  assert.equal(await scene.property(DIAL_BOB, "ActiveState"), "inactive");
  const stopped = await show(scene, "bob");
  assert.deepEqual([stopped.state, stopped.reason], ["stopped", "by an operator"]);
  await scene.must("fleetctl", "apply");
  await scene.host.reboot();
  await scene.settled();
  assert.equal(await scene.property(DIAL_BOB, "ActiveState"), "inactive");
  assert.deepEqual(await show(scene, "bob"), stopped);
  await untilState(scene, "ada", "idle");
  const refused = await scene.run(["fleetctl", "agents", "restart", "bob"]);
  assert.match(refused.err, /it was stopped on purpose/);
  await scene.must("fleetctl", "agents", "start", "bob");
  await untilState(scene, "bob", "idle");
  await poll(
    "bob at the gateway",
    async () => (await show(scene, "bob")).gateway === "connected" ? true : undefined,
  );
}

/**
 * A caller who follows a log through the daemon and disconnects, in whatever way, leaves no process
 * behind.
 */
export async function noReaders(scene: DaemonScene): Promise<void> {
  const nothing = async () => (await scene.run(["pgrep", "-x", "journalctl"])).code === 1;
  for (const signal of ["SIGTERM", "SIGKILL"]) {
    const follow = `fleetctl logs self --follow > /tmp/followed & echo $!; wait`;
    const client = await scene.host.processes.spawn({
      command: "/usr/sbin/runuser",
      args: ["-u", "ada", "--", "/bin/sh", "-c", follow],
      env: { PATH: "/usr/bin:/bin", HOME: "/home/ada" },
      cwd: "/",
    });
    await poll("its first line", async () => {
      const ended = await scene.run(["test", "-s", "/tmp/followed"]);
      return ended.code === 0 ? true : undefined;
    });
    await scene.must("pkill", "-u", "ada", `--signal=${signal}`, "-f", "logs self");
    await poll(`no reader after ${signal}`, async () => (await nothing()) ? true : undefined);
    await client.exited;
    await scene.must("rm", "/tmp/followed");
  }
}

/** A killed process is reported together with the reason. */
export async function failedState(scene: DaemonScene): Promise<void> {
  await scene.must("systemctl", "mask", "--runtime", "--now", DIAL_BOB);
  const down = await show(scene, "bob");
  assert.deepEqual([down.state, down.reason], ["stopped", "its unit is not running"]);
  assert.match((await scene.run(["fleetctl", "status"])).out, /Agent "bob" is stopped/);
  await scene.must("systemctl", "unmask", "--runtime", DIAL_BOB);
  await scene.must("fleetctl", "agents", "start", "bob");
  await untilState(scene, "bob", "idle");
}

/**
 * The home stays with an expired account. An agent added again gets it back; an archived home is
 * gone.
 */
export async function remove(scene: DaemonScene): Promise<void> {
  await scene.must("fleetctl", "secret", "set", "OWN", "--value", "v", "--agent", "bob");
  const refused = await scene.run(["fleetctl", "agents", "remove", "bob"], { input: "" });
  assert.equal(refused.code, 2);
  assert.match(refused.err, /must be confirmed with --yes/);
  const uid = await scene.uidOf("bob");
  await scene.must("sh", "-c", "echo mine > /home/bob/note; chown bob: /home/bob/note");
  await scene.must("fleetctl", "agents", "remove", "bob", "--yes");
  assert.equal((await scene.run(["systemctl", "cat", DIAL_BOB])).code, 1);
  assert.equal((await scene.run(["pgrep", "-u", "bob"])).code, 1, "nothing of it runs");
  assert.equal((await scene.must("id", "-nG", "bob")).trim(), "bob");
  assert.match(await scene.must("chage", "-l", "bob"), /Account expires\s*: Jan 0[12], 1970/);
  const left = await scene.must(
    "find",
    "/etc/fleetctl",
    "/run/mcp",
    "/var/lib/fleetctl/permissions",
    "-name",
    "*bob*",
  );
  assert.equal(left, "");
  // A former agent is an unknown caller as soon as its record is gone.
  const asked = await scene.ask(uid, [{ argv: ["agents", "list"] }]);
  assert.equal(asked[0]?.type === "refused" && asked[0].error.code, "caller-unknown");
  await scene.must(
    "fleetctl",
    "agents",
    "add",
    "bob",
    "--channel",
    "webview",
    "--user-email",
    "bob@example.org",
  );
  assert.equal(await scene.uidOf("bob"), uid);
  assert.equal((await scene.run(["fleetctl", "secret", "get", "OWN", "--agent", "bob"])).code, 1);
  await scene.must("fleetctl", "agents", "remove", "bob", "--yes", "--home", "archive");
  assert.equal((await scene.run(["getent", "passwd", "bob"])).code, 2);
  assert.equal((await scene.run(["test", "-e", "/home/bob"])).code, 1);
  const archive = (await scene.must("sh", "-c", "ls /var/lib/fleetctl/archive/bob-*.tar.gz"))
    .trim();
  assert.equal(await scene.modeOf(archive), "600 root:root");
  assert.equal(await scene.must("tar", "-xzOf", archive, "bob/note"), "mine\n");
}
