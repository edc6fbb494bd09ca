/**
 * Team chat on a booted host: the gateway as two units, each under its own user, and what neither
 * can read of the other. A message to the public address becomes a turn of its agent.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { PackagedHost } from "tests/support/packaged_host.ts";

const OWNER = "00000000-0000-4000-8000-0000000000be";
const DIAL_BEA = "fleetctl-dial-bea.service";
const SENDER = "fleetctl-teamchat.service";
const RECEIVER = "fleetctl-teamchat-receiver.service";

/** Installs team chat, checks it, and removes it again by restoring `roles`. */
export async function checkReceiverAndSender(scene: PackagedHost, roles: string): Promise<void> {
  await scene.must(
    "fleetctl",
    "agents",
    "add",
    "bea",
    "--channel",
    "teamchat",
    "--owner-aad",
    OWNER,
  );
  await scene.must("fleetctl", "teams-gateway", "install", "--register-listen", "127.0.0.2:3978");
  await scene.untilLogged(RECEIVER, '"event":"sender connected"');
  await checkFirstKey(scene);
  const wanted: Readonly<Record<string, string>> = {
    "/etc/fleetctl/env/teams-gateway.env": "640 root:fleetctl-teamchat",
    "/etc/fleetctl/env/teams-receiver.env": "640 root:fleetctl-teamchat-receiver",
    "/var/lib/fleetctl/teamchat": "700 fleetctl-teamchat:fleetctl-teamchat",
    "/var/lib/fleetctl/teamchat-receiver":
      "710 fleetctl-teamchat-receiver:fleetctl-teamchat-receiver",
    "/var/lib/fleetctl/teamchat-receiver/handover.sock":
      "660 fleetctl-teamchat-receiver:fleetctl-teamchat-receiver",
    "/var/lib/fleetctl/teamchat-receiver/spool.db":
      "600 fleetctl-teamchat-receiver:fleetctl-teamchat-receiver",
  };
  const found: Record<string, string> = {};
  for (const path of Object.keys(wanted)) found[path] = await scene.modeOf(path);
  assert.deepEqual(found, wanted);
  const pid = await scene.property(RECEIVER, "MainPID");
  assert.equal(await scene.ownerOfProcess(pid), "fleetctl-teamchat-receiver");
  for (
    const path of ["/etc/fleetctl/env/teams-gateway.env", "/var/lib/fleetctl/teamchat/teamchat.db"]
  ) {
    const read = await scene.run(["cat", path], { user: "fleetctl-teamchat-receiver" });
    assert.notEqual(read.code, 0, `the receiver can read ${path}`);
  }
  const spool = ["cat", "/var/lib/fleetctl/teamchat-receiver/spool.db"];
  assert.notEqual((await scene.run(spool, { user: "fleetctl-teamchat" })).code, 0);
  assert.equal(await post(scene, "1"), "202");
  await scene.untilLogged(SENDER, '"event":"turn queued".*"agent":"bea"');
  // Stop and start the sender: messages accepted meanwhile are handed over afterwards.
  await scene.must("systemctl", "stop", SENDER);
  assert.equal(await post(scene, "2"), "202");
  await scene.must("systemctl", "kill", "-s", "KILL", RECEIVER);
  await scene.must("systemctl", "start", SENDER);
  await scene.untilLogged(SENDER, '"event":"turn queued".*"agent":"bea"');
  const output = await scene.run(["fleetctl", "teams-gateway", "status", "--json"]);
  const status = JSON.parse(output.out);
  assert.deepEqual([status.state, status.receiver.state], ["active", "active"]);
  assert.deepEqual(status.problems, []);
  await Deno.writeTextFile(`${scene.host.root}/etc/fleetctl/roles.yaml`, roles);
  await scene.must("fleetctl", "agents", "remove", "bea", "--yes");
  await scene.must("fleetctl", "apply");
  assert.notEqual((await scene.run(["systemctl", "is-active", RECEIVER])).code, 0);
}

/**
 * `apply` enrolls an agent's first key, but not one after a revoke; each step names the next
 * command.
 */
async function checkFirstKey(scene: PackagedHost): Promise<void> {
  const accepted = '"event":"register accepted".*"agent":"bea".*"proven":true';
  const doctor = async () => {
    const { out } = await scene.run(["fleetctl", "teams-gateway", "doctor", "--json"]);
    const found = JSON.parse(out).problems as { code: string; message: string; hints: string[] }[];
    return found.map(({ code, message, hints }) => ({ code, message, hint: hints[0] ?? "" }));
  };
  // The unit existed before the gateway, and dials it from its next start on.
  await scene.must("fleetctl", "agents", "restart", "bea");
  await scene.untilLogged(
    DIAL_BEA,
    '"event":"gateway refuses".*"status":401,"reason":"key-not-enrolled"',
  );
  const [missing, ...others] = await doctor();
  assert.deepEqual([missing?.code, others], ["teams-key-missing", []]);
  assert.equal(missing?.hint, "fleetctl apply");
  const asBea = async (script: string) => {
    const inFolder = `cd ~/.fleetctl/dial; ${script}`;
    const { code, err } = await scene.run(["sh", "-ec", inFolder], { user: "bea" });
    assert.equal(code, 0, err);
  };
  await asBea("mv key.json key.real");
  for (const put of ["mkfifo key.json", "ln -s key.real key.json", "mkdir key.json"]) {
    await asBea(put);
    assert.doesNotMatch(await scene.must("fleetctl", "apply"), /enrolled/, put);
    await asBea("rm -r key.json");
  }
  await asBea("mv key.real key.json");
  const applied = await scene.must("fleetctl", "apply");
  assert.match(applied, /^enrolled +the first dial key of agent "bea"$/m);
  await scene.untilLogged(SENDER, accepted);
  assert.deepEqual(await doctor(), []);
  assert.match(await scene.must("fleetctl", "apply"), /^unchanged/);
  await scene.must("fleetctl", "agents", "key", "revoke", "bea");
  assert.match(await scene.must("fleetctl", "apply"), /^unchanged/);
  const [revoked] = await doctor();
  assert.match(revoked?.message ?? "", /all are revoked: it cannot register$/);
  assert.match(revoked?.hint ?? "", /^fleetctl agents key enroll bea [A-Za-z0-9_-]{43}$/);
  await scene.must("sh", "-c", revoked?.hint ?? "");
  await scene.must("systemctl", "restart", DIAL_BEA);
  await scene.untilLogged(DIAL_BEA, '"event":"gateway connected"');
  assert.deepEqual(await doctor(), []);
  const { agents, problems } = JSON.parse(
    (await scene.run(["fleetctl", "status", "--json"])).out,
  );
  const bea = agents.find(({ name }: { name: string }) => name === "bea");
  assert.equal(bea.gateway, "team chat");
  const about = problems.filter(({ message }: { message: string }) => message.includes('"bea"'));
  assert.deepEqual(about, []);
}

/** Posts a message of bea's owner to the public address; returns the status of the answer. */
async function post(scene: PackagedHost, id: string): Promise<string> {
  const activity = {
    type: "message",
    id,
    channelId: "msteams",
    serviceUrl: "http://127.0.0.1:9/teams/",
    from: { id: "29:owner", aadObjectId: OWNER },
    recipient: { id: "28:bot" },
    conversation: { id: "a:owner", conversationType: "personal" },
    text: `message ${id}`,
  };
  return await scene.must(
    "curl",
    "-sS",
    "-o",
    "/dev/null",
    "-w",
    "%{http_code}",
    "--retry",
    "20",
    "--retry-connrefused",
    "--retry-delay",
    "1",
    "-H",
    "content-type: application/json",
    "-d",
    JSON.stringify(activity),
    "http://127.0.0.1:3978/api/messages",
  );
}
