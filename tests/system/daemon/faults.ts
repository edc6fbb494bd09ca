/**
 * A host in trouble, or an agent that causes it: links and pipes where root reads and writes, a
 * damaged ledger and store, a full disk. Bad input changes nothing, and existing data survives.
 *
 * @module
 */

import assert from "node:assert/strict";
import { poll } from "tests/support/booted_host.ts";
import type { DaemonScene } from "tests/system/daemon/scene.ts";
import { DAEMON } from "tests/support/packaged_host.ts";

const STORE = "/var/lib/fleetctl/repo/secrets.age";
const SHARD = "/var/lib/fleetctl/repo/agents.d/zoe.yaml";
const ENV = "/etc/fleetctl/env/agent-ada.env";

/** Whatever an agent does to its own home, root writes nowhere else and does not block. */
export async function linksAndPipes(scene: DaemonScene): Promise<void> {
  const asAda = async (script: string) => {
    const ended = await scene.run(["sh", "-c", script], { user: "ada" });
    assert.equal(ended.code, 0, ended.err);
  };
  await asAda(`mv ~/.runtime-b ~/.runtime-b.kept; ln -s /etc/fleetctl ~/.runtime-b`);
  const linked = await scene.run(["fleetctl", "apply"]);
  assert.equal((await scene.run(["test", "-e", "/etc/fleetctl/agent"])).code, 1, linked.out);
  await asAda(`rm ~/.runtime-b; mv ~/.runtime-b.kept ~/.runtime-b`);
  await asAda(`cd ~/.fleetctl/dial && mv state.json kept && mkfifo state.json
    mv key.json key.kept && mkfifo key.json
    cd ~/.runtime-b/agent && mv mcp.json mcp.kept && mkfifo mcp.json`);
  for (
    const words of [["agents", "list"], ["agents", "show", "ada"], ["mcp", "wired", "ada"], [
      "status",
    ]]
  ) {
    const ended = await scene.run(["timeout", "50", "fleetctl", ...words]);
    // An obstacle in the agent's home is a separate fault, which the exit code of `status` reports.
    const isSeen = ended.code === 0 || (words[0] === "status" && ended.code === 1);
    assert.ok(isSeen, `${words.join(" ")} ended with ${ended.code}: ${ended.err}`);
  }
  await asAda(`cd ~/.fleetctl/dial && rm key.json && mv key.kept key.json
    cd ~/.runtime-b/agent && rm mcp.json && mv mcp.kept mcp.json`);
  await asAda(`cd ~/.fleetctl/dial && rm state.json && ln -s /etc/shadow state.json`);
  const shown = await scene.must("fleetctl", "agents", "show", "ada");
  assert.doesNotMatch(shown, /root:/);
  await asAda(`cd ~/.fleetctl/dial && rm state.json && mv kept state.json`);
  await foldersThatLead(scene, asAda);
  await scene.must("fleetctl", "apply");
}

/** A link in place of a folder leads root nowhere that the agent could not reach itself. */
async function foldersThatLead(
  scene: DaemonScene,
  asAda: (script: string) => Promise<void>,
): Promise<void> {
  const state = JSON.stringify({
    started: Date.now(),
    since: Date.now(),
    state: "failed",
    reason: "from elsewhere",
  });
  const put = 'mkdir -m 0700 /root/kept; echo "$1" > /root/kept/state.json';
  await scene.must("sh", "-ec", put, "sh", state);
  await scene.must("chown", "ada:ada", "/root/kept/state.json");
  await asAda(`mv ~/.fleetctl/dial ~/.fleetctl/kept && ln -s /root/kept ~/.fleetctl/dial`);
  const shown = await scene.must("fleetctl", "agents", "show", "ada");
  await asAda(`rm ~/.fleetctl/dial && mv ~/.fleetctl/kept ~/.fleetctl/dial`);
  assert.doesNotMatch(shown, /from elsewhere/);
}

/**
 * Whatever an agent puts in place of its config is reported at once: no verb blocks on it or
 * follows it.
 */
export async function homesThatWait(scene: DaemonScene): Promise<void> {
  const config = "/home/ada/.runtime-b/agent/mcp.json";
  const kept = await scene.must("cat", config);
  const asAda = async (script: string) => {
    const ended = await scene.run(["sh", "-ec", script], { user: "ada" });
    assert.equal(ended.code, 0, ended.err);
  };
  const cases = [
    [`mkfifo ${config}`, "it is a pipe, must be a plain file"],
    [`ln -s /etc/shadow ${config}`, "it is a link, must be a plain file"],
  ] as const;
  for (const [script, found] of cases) {
    await asAda(`rm ${config}; ${script}`);
    const own = await scene.run(["fleetctl", "apply", "self"], { user: "ada" });
    assert.equal(own.code, 1, own.out);
    assert.ok(own.err.includes(found), own.err);
    const whole = await scene.run(["fleetctl", "apply"]);
    assert.equal(whole.code, 1, whole.out);
    assert.match(whole.err, /Cannot read ".*mcp\.json" of agent "ada": it is a/);
    assert.doesNotMatch(whole.err, /"bob"|"zoe"/);
    await asAda(`rm -r ${config}; cat > ${config} <<'END'\n${kept}END\nchmod 600 ${config}`);
  }
  assert.equal((await scene.run(["fleetctl", "apply"])).code, 0);
  const stat = (await scene.must("stat", "-c", "%U %G %a", config)).trim();
  assert.equal(stat, "ada ada 600");
}

/** An agent whose unit does not stop holds up its own verb, but no other user's verb. */
export async function unitsThatWait(scene: DaemonScene): Promise<void> {
  const unit = "fleetctl-dial-ada.service";
  const stateOf = async () =>
    (await scene.must("systemctl", "show", "--value", "--property=ActiveState", unit)).trim();
  const pid = (await scene.must("systemctl", "show", "--value", "--property=MainPID", unit)).trim();
  const asAda = (script: string) => scene.run(["sh", "-ec", script], { user: "ada" });
  const before = await asAda("fleetctl mcp remove browser self");
  assert.equal(before.code, 0, before.err);
  // systemd wakes a stopped process so that it receives its SIGTERM, so ada stops hers in a loop.
  const stopper = scene.run(["perl", "-e", `1 while kill STOP => ${pid}`], { user: "ada" });
  let isOver = false;
  const own = scene.run(["fleetctl", "apply", "self"], { user: "ada" });
  void own.then(() => isOver = true);
  await poll("a unit that stops", async () => await stateOf() === "deactivating" || undefined);
  const set = (key: string) =>
    scene.run(["fleetctl", "secret", "set", key, "--value", "-"], { input: "x" });
  const other = await set("PARALLEL_0");
  assert.equal(other.code, 0, other.err);
  assert.equal(isOver, false, "a verb of root passed one that waits for its unit");
  // More verbs than may run at once: the fifth and the sixth wait for their turn.
  const others = await Promise.all([1, 2, 3, 4, 5, 6].map((at) => set(`PARALLEL_${at}`)));
  for (const { code, err } of others) assert.equal(code, 0, err);
  await stopper;
  const ended = await own;
  assert.equal(ended.code, 0, ended.err);
  assert.equal(await stateOf(), "active");
  assert.doesNotMatch(await scene.must("fleetctl", "apply"), /restarted|updated/);
  await scene.must("fleetctl", "mcp", "add", "browser", "ada");
  await scene.must("fleetctl", "apply");
}

/** An agent's verb that needs a package waits for it before it acquires the host's lock. */
export async function packagesThatWait(scene: DaemonScene): Promise<void> {
  // Stands in for an operator who installs that package at the same time.
  const lock = "/var/lib/fleetctl/locks/vendor-browser.lock";
  const holder = scene.run([
    "flock",
    lock,
    "sh",
    "-c",
    "until [ -e /run/go-on ]; do sleep 0.1; done",
  ]);
  await poll("the lock of the package", async () => {
    const free = await scene.run(["flock", "--nonblock", lock, "true"]);
    return free.code === 0 ? undefined : true;
  });
  const own = scene.run(["sh", "-c", "fleetctl apply self --steps > ~/said 2>&1"], { user: "ada" });
  await poll("a verb that looks at its package", async () => {
    const output = await scene.run(["grep", "vendor browser", "/home/ada/said"]);
    return output.code === 0 ? true : undefined;
  });
  const set = ["fleetctl", "secret", "set", "PARALLEL_0", "--value", "-"];
  const other = await scene.run(set, { input: "y" });
  assert.equal(other.code, 0, other.err);
  await scene.must("touch", "/run/go-on");
  assert.equal((await holder).code, 0);
  assert.equal((await own).code, 0, await scene.must("cat", "/home/ada/said"));
}

/** A broken shard excludes only its own agent; a broken store is never overwritten. */
export async function brokenStores(scene: DaemonScene): Promise<void> {
  const zoe = await scene.uidOf("zoe");
  const shard = await scene.must("cat", SHARD);
  await Deno.writeTextFile(`${scene.host.root}${SHARD}`, "name: zoe\nchannel: [\n");
  const [frame] = await scene.ask(zoe, [{ argv: ["apply"] }]);
  assert.ok(frame?.type === "refused", "who has no readable record is no admin");
  assert.equal((await scene.ada("secret get CODEHOST_TOKEN")).code, 0, "others go on");
  assert.match((await scene.run(["fleetctl", "status"])).out, /zoe\.yaml/);
  await Deno.writeTextFile(`${scene.host.root}${SHARD}`, shard);

  const env = await scene.must("cat", ENV);
  await scene.must("cp", "-a", STORE, "/srv/kept.age");
  await scene.must("sh", "-c", `head -c 100 /srv/kept.age > ${STORE}`);
  const set = await scene.ada("secret set CODEHOST_TOKEN --value - --agent self", "lost");
  assert.equal(set.code, 1);
  assert.match(set.err, /Cannot read the secret store/);
  assert.equal(await scene.must("cat", ENV), env, "a good file is never replaced");
  assert.equal((await scene.must("stat", "-c", "%s", STORE)).trim(), "100");
  await scene.must("cp", "-a", "/srv/kept.age", STORE);
  assert.equal((await scene.ada("secret get CODEHOST_TOKEN")).out, "t2\n");
}

/** On a full disk no change goes unrecorded, and existing data can be read. */
export async function fullDisk(scene: DaemonScene): Promise<void> {
  const folder = "/var/lib/fleetctl/daemon";
  await scene.must("systemctl", "stop", DAEMON);
  await scene.must(
    "sh",
    "-ec",
    `mount -t tmpfs -o size=4m,mode=700 tmpfs /mnt; cp -a ${folder}/. /mnt/
     mount --bind /mnt ${folder}; systemctl start ${DAEMON}`,
  );
  await scene.untilLogged(DAEMON, '"event":"ready"');
  await scene.run(["sh", "-c", `cat /dev/zero > ${folder}/filler; true`]);
  const set = await scene.ada("secret set CODEHOST_TOKEN --value - --agent self", "t3");
  assert.equal(set.code, 1, set.out);
  assert.match(set.err, /the audit log in .* cannot be written.*\n(hint: .*\n)*/);
  const direct = await scene.run(["fleetctl", "agents", "list"]);
  assert.equal(direct.code, 0, direct.err);
  assert.match(direct.err, /warning: Cannot record the decision/);
  const changed = await scene.run(["fleetctl", "agents", "set", "ada", "--model", "never-1"]);
  assert.notEqual(changed.code, 0);
  await scene.must("rm", `${folder}/filler`);
  assert.equal((await scene.ada("secret get CODEHOST_TOKEN")).out, "t2\n");
  const again = await scene.ada("secret set CODEHOST_TOKEN --value - --agent self", "t4");
  assert.equal(again.code, 0, again.err);
  assert.equal((await scene.ada("secret get CODEHOST_TOKEN")).out, "t4\n");
  assert.doesNotMatch(await scene.must("fleetctl", "agents", "show", "ada"), /never-1/);
  await scene.must("systemctl", "stop", DAEMON);
  await scene.must("umount", folder, "/mnt");
  await scene.must("systemctl", "start", DAEMON);
}

/**
 * The bytes and entries of a host that an agent's user can exhaust do not block other users' verbs.
 */
export async function usedUp(scene: DaemonScene): Promise<void> {
  const shared = ["/tmp", "/var/tmp", "/dev/shm"];
  const small = "size=4m,nr_inodes=400,mode=1777";
  for (const folder of shared) {
    await scene.must("mount", "-t", "tmpfs", "-o", small, "tmpfs", folder);
  }
  const fill = shared.map((folder) =>
    `cat /dev/zero > ${folder}/fill; i=0; while (: > ${folder}/$i); do i=$((i+1)); done`
  ).join("\n");
  await scene.run(["runuser", "-u", "bob", "--", "sh", "-c", `${fill}; true`]);
  const full = await scene.run(["sh", "-c", "mkdir /tmp/root && echo made"]);
  assert.notEqual(full.code, 0, "there is no entry left");
  const set = await scene.ada("secret set CODEHOST_TOKEN --value - --agent self", "t5");
  assert.equal(set.code, 0, set.err);
  assert.equal((await scene.ada("secret get CODEHOST_TOKEN")).out, "t5\n");
  assert.equal((await scene.run(["fleetctl", "apply"])).code, 0);
  // The host bounds the journal and drops old lines; the audit of decisions is kept elsewhere.
  const decided = (await scene.audit()).length;
  const flood = "yes of no use | head -c 300000 | logger -t flood";
  await scene.must("runuser", "-u", "bob", "--", "sh", "-c", flood);
  assert.ok((await scene.audit()).length >= decided);
  // Only new starts have to wait, because the manager builds its view of the host in /tmp.
  await scene.must("umount", ...shared);
  await scene.must("systemctl", "restart", DAEMON);
  await poll("the daemon again", async () => {
    const report = await scene.ada("secret get CODEHOST_TOKEN");
    return report.out === "t5\n" ? true : undefined;
  });
}
