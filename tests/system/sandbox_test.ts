/**
 * The sandbox of an agent's commands on a booted host, under the real unit: attacks from inside,
 * ordinary work, and what operators read where it cannot be built. Then, without the sandbox, the
 * files of an agent's prompt.
 *
 * @module
 */

import assert from "node:assert/strict";
import { startFakeModel } from "tests/fakes/model_endpoint.ts";
import { keepFilesPrivate, useFiles, useModel } from "tests/system/sandbox/agent_files.ts";
import { bootHost } from "tests/support/booted_host.ts";
import { buildPackage } from "tests/support/built_package.ts";
import { registryInside } from "tests/support/host_registry.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import {
  copyInto,
  DIAL,
  installPackage,
  PackagedHost,
  ROLES,
} from "tests/support/packaged_host.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";
import { ENTRIES_OF_UP } from "tests/support/up_process.ts";

const MODEL_PORT = 9001;
const SECRET = "sk-very-secret";
const HOME = "/home/ada";
const PROJECT = `${HOME}/workspace`;

/** Runs a command in a turn; returns its output as the transcript shows it. */
async function bash(
  scene: PackagedHost,
  command: string,
  ...options: readonly string[]
): Promise<string> {
  const text = `call bash ${JSON.stringify({ command, timeout_seconds: 30 })}`;
  const { out, err } = await scene.run(["fleetctl", "turn", "ada", ...options, text]);
  // The set-up script of a worktree is a call too, before this one.
  const results = [...out.matchAll(/^ {2}← .*\n((?: {4}.*\n)*)/gm)].map(([, shown = ""]) => shown);
  return (results.at(-1) ?? out + err).replace(/^ {4}/gm, "");
}

async function setUp(scene: PackagedHost): Promise<void> {
  await Deno.writeTextFile(`${scene.host.root}/etc/fleetctl/roles.yaml`, ROLES);
  for (const name of ENTRIES_OF_UP) {
    await copyInto(scene.host, `${VENDOR_CACHE}/${name}`, "/var/lib/fleetctl/vendor-cache");
  }
  for (const name of ["ada", "bea"]) {
    const email = `${name}@example.org`;
    const words = ["add", name, "--channel", "webview", "--user-email", email];
    await scene.must("fleetctl", "agents", ...words, "--tasks-max", "256");
  }
  const stored = await scene.run(
    ["fleetctl", "secret", "set", "CODEHOST_TOKEN", "--agent", "ada", "--value", "-"],
    { input: SECRET },
  );
  assert.equal(stored.code, 0, stored.err);
  await scene.must("sh", "-c", "echo hidden > /home/bea/note; chmod 755 /home/bea");
  await scene.must("fleetctl", "apply");
}

async function restart(scene: PackagedHost): Promise<void> {
  await scene.must("fleetctl", "agents", "restart", "ada");
}

async function turnOn(scene: PackagedHost): Promise<void> {
  await restart(scene);
  assert.match(await bash(scene, `env; ls ${HOME}/.fleetctl/dial`), new RegExp(SECRET));
  await scene.must("fleetctl", "agents", "set", "ada", "--sandbox", "on");
  assert.match(
    (await scene.run(["fleetctl", "status"])).out,
    /without a sandbox until it restarts/,
  );
  await restart(scene);
  assert.match(await scene.must("fleetctl", "status"), /nothing is wrong/);
  assert.match(await scene.must("fleetctl", "agents", "show", "ada"), /on, without a network/);
}

/** What a command tries, what it must print, and what it must never print. */
const ATTACKS: readonly (readonly [string, string, RegExp])[] = [
  ["read the env file", "cat /etc/fleetctl/env/*.env", /No such file/],
  ["read the agent's keys", "cat ~/.fleetctl/dial/key.json", /No such file/],
  ["list the sessions", "ls ~/.runtime-b ~/.fleetctl/dial/journal", /cannot access/],
  ["read the environment of PID 1", "cat /proc/1/environ | tr '\\0' '\\n'", /PATH=/],
  ["read every environment", "cat /proc/[0-9]*/environ | tr '\\0' '\\n'; env", /HOME=/],
  ["find other processes", "ls -d /proc/[0-9]* | wc -l", /^[3-6]$/m],
  ["read another home", "cat /home/bea/note; ls /home", /No such file/],
  ["read the ledger", "ls /var/lib/fleetctl", /cannot access/],
  ["reach the daemon", "fleetctl agents list", /Cannot|cannot|error/],
  ["find a socket", "find / -type s 2>/dev/null; ls /run", /cannot access/],
  ["write to /usr", "touch /usr/x", /Read-only file system/],
  ["write to /", "touch /x; mkdir /home/bea", /Read-only file system/],
  ["follow a link", `ln -sfn ${HOME}/.fleetctl link; cat link/dial/key.json`, /No such file/],
  ["climb out", "cd ..; ls -a; cat ../bea/note", /No such file/],
  ["mount", "mount -t tmpfs x /mnt", /permission|superuser|denied|not permitted|exist/i],
  ["make a namespace", "unshare -U true", /unshare/],
  ["reach loopback", "exec 3<>/dev/tcp/127.0.0.1/8731", /connect|refused|unreachable/i],
  ["find an address", "cat /proc/net/fib_trie; ip -o addr", /lo/],
  ["resolve a name", "getent hosts example.org || echo unresolved", /unresolved/],
  ["find an abstract socket", "cat /proc/net/unix | wc -l", /^1$/m],
  ["reach D-Bus", "busctl --system list; busctl --user list", /No such file|not found|connect/i],
  ["read kernel messages", "dmesg; cat /dev/kmsg", /denied|permitted|No such file/],
  ["find a device", "ls /dev/sd* /dev/vd* /dev/mem /dev/fuse", /cannot access/],
  [
    "gain a right",
    "grep -E 'NoNewPrivs|CapEff|CapBnd' /proc/self/status",
    /CapEff:\s0{16}\nCapBnd:\s0{16}\nNoNewPrivs:\s1$/m,
  ],
  ["attach to the process above", "cat /proc/1/maps | grep -c deno; ls /proc/1/root/home", /^0$/m],
  ["change the host's settings", "echo 1 > /proc/sys/vm/drop_caches", /Read-only|denied/],
  ["signal every process", "kill -0 -1; echo signalled", /signalled/],
];

/** Ordinary work inside. */
const WORK: readonly (readonly [string, string, RegExp])[] = [
  [
    "git",
    "git init -q . && git config user.name ada && git config user.email a@example.org && " +
    "echo a > a.txt && git add a.txt && git commit -qm first && git log --oneline",
    /first/,
  ],
  ["python", "python3 -c 'print(6 * 7)'", /42/],
  ["deno", "/usr/lib/fleetctl/deno eval 'console.log(6 * 7)'", /42/],
  ["a temporary file", "f=$(mktemp) && echo kept > $f && cat $f", /kept/],
  ["a pipeline", "seq 3 | sort -r | head -1 > out.txt && cat out.txt", /3/],
];

async function attack(scene: PackagedHost): Promise<void> {
  for (const [name, command, want] of ATTACKS) {
    const text = await bash(scene, command);
    assert.match(text, want, `${name}: ${text}`);
    assert.doesNotMatch(text, new RegExp(`${SECRET}|pkcs8|hidden`), name);
  }
  // A link that a command left behind leads the file tools nowhere.
  for (const path of ["link/dial/key.json", "/etc/passwd", `${HOME}/.fleetctl/dial/key.json`]) {
    const { out } = await scene.run([
      "fleetctl",
      "turn",
      "ada",
      `call read ${JSON.stringify({ path })}`,
    ]);
    assert.match(out, /outside of the sandbox/, out);
  }
}

async function work(scene: PackagedHost): Promise<void> {
  for (const [name, command, want] of WORK) {
    assert.match(await bash(scene, command), want, name);
  }
  assert.equal(await scene.must("cat", `${PROJECT}/out.txt`), "3\n");
  assert.equal((await scene.must("stat", "-c", "%U", `${PROJECT}/out.txt`)).trim(), "ada");
}

/** Commands end with their call, whatever they start; endless forks stay within the unit. */
async function leaveBehind(scene: PackagedHost): Promise<void> {
  const daemon =
    "(setsid nohup sleep 987654 >/dev/null 2>&1 &) ; setsid -f sleep 987654; echo left";
  assert.match(await bash(scene, daemon), /left/);
  assert.equal((await scene.run(["pgrep", "-f", "sleep 987654"])).code, 1);
  await bash(scene, "bomb() { bomb | bomb & }; bomb; sleep 3");
  assert.match(await bash(scene, "echo still here"), /still here/);
  assert.equal(await scene.property(DIAL, "ActiveState"), "active");
}

/** git and the set-up script of the dial unit run what a command wrote: in the sandbox. */
async function worktrees(scene: PackagedHost): Promise<void> {
  const key = `${HOME}/.fleetctl/dial/key.json`;
  const script = `env > seen.txt; cat ${key} >> seen.txt 2>&1; true`;
  const filter = `cat ${key} > ${PROJECT}/filtered.txt 2>&1; cat`;
  await bash(
    scene,
    `mkdir -p bin && echo '${script}' > bin/setup && echo '* filter=own' > .gitattributes && ` +
      `git config filter.own.smudge '${filter}' && ` +
      "git add -A && git commit -qm second && git status --short",
  );
  const words = ["--worktrees", "yes", "--setup", "bin/setup"];
  await scene.must("fleetctl", "agents", "set", "ada", ...words);
  await restart(scene);
  const text = await bash(scene, "pwd; git status -sb; ls", "--conversation", "trip");
  assert.match(text, /worktrees\/trip/, text);
  assert.match(text, /fleetctl\/trip/, text);
  const seen = await scene.must("cat", `${PROJECT}/.fleetctl/worktrees/trip/seen.txt`);
  const filtered = await scene.must("cat", `${PROJECT}/filtered.txt`);
  assert.match(seen, /FLEETCTL_CONVERSATION=trip/);
  for (const text of [seen, filtered]) {
    assert.match(text, /No such file/);
    assert.doesNotMatch(text, new RegExp(`${SECRET}|pkcs8`));
  }
  await scene.must("fleetctl", "conversations", "remove", "ada", "trip");
  await scene.must("fleetctl", "agents", "set", "ada", "--worktrees", "no");
}

async function network(scene: PackagedHost): Promise<void> {
  await scene.must("fleetctl", "agents", "set", "ada", "--sandbox-network", "all");
  await restart(scene);
  const text = await bash(scene, "exec 3<>/dev/tcp/127.0.0.1/8731 && echo open");
  assert.match(text, /open/, text);
  assert.match(await scene.must("fleetctl", "agents", "show", "ada"), /on, with the network/);
  await scene.must("fleetctl", "agents", "set", "ada", "--sandbox-network", "");
}

/** Commands are refused, and the operator reads why and what to do. */
async function notPossible(scene: PackagedHost): Promise<void> {
  const dropIn = `/etc/systemd/system/${DIAL}.d`;
  const cases: readonly (readonly [string, string, RegExp, string])[] = [
    [
      "mv /usr/bin/bwrap /usr/bin/bwrap-away",
      "mv /usr/bin/bwrap-away /usr/bin/bwrap",
      /no such program/,
      "apt-get install -y bubblewrap",
    ],
    [
      `mkdir -p ${dropIn} && ` +
      `printf '[Service]\\nRestrictNamespaces=yes\\n' > ${dropIn}/x.conf && ` +
      "systemctl daemon-reload",
      `rm -r ${dropIn} && systemctl daemon-reload`,
      /namespace/,
      "fleetctl agents set ada --sandbox off",
    ],
  ];
  for (const [forbid, allow, why, hint] of cases) {
    await scene.must("sh", "-c", forbid);
    await restart(scene);
    const refused = await bash(scene, "echo ran > ran.txt");
    assert.match(refused, why);
    assert.match(refused, /sandbox-not-possible/);
    assert.equal((await scene.run(["test", "-e", `${PROJECT}/ran.txt`])).code, 1);
    for (const verb of ["status", "doctor"]) {
      const { out, err } = await scene.run(["fleetctl", verb]);
      assert.match(out + err, why, verb);
      assert.ok((out + err).includes(hint), `${verb}: ${out}${err}`);
    }
    const shown = await scene.must("fleetctl", "agents", "show", "ada");
    assert.match(shown, /not possible, commands are refused/);
    await scene.must("sh", "-c", allow);
    await restart(scene);
    assert.match(await bash(scene, "echo ran again"), /ran again/);
  }
}

Deno.test("a sandboxed command reaches its workspace and nothing else of the host", async (t) => {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target", enforces: "controllers" });
  const scene = new PackagedHost(host);
  const step = hostSteps(t, [host]);
  const model = await startFakeModel();
  try {
    await using _model = await registryInside(host, model.baseUrl, MODEL_PORT);
    await step("install the package and two agents", async () => {
      await installPackage(host, out);
      await setUp(scene);
    });
    await step("the sandbox is in force after a restart", () => turnOn(scene));
    await step("attacks see no key, no other home and no process", () => attack(scene));
    await step("git, python and deno work", () => work(scene));
    await step("no process outlives its call", () => leaveBehind(scene));
    await step("worktrees run what a command wrote in the sandbox", () => worktrees(scene));
    await step("the network is shared on request", () => network(scene));
    await step("where it is not possible, commands are refused", () => notPossible(scene));
    await step("without the record, commands see the home again", async () => {
      await scene.must("fleetctl", "agents", "set", "ada", "--sandbox", "off");
      await restart(scene);
      assert.match(await bash(scene, `ls ${HOME}/.fleetctl/dial`), /key.json/);
    });
    await step("an agent reads its instructions and a skill, and remembers", async () => {
      await useModel(scene, MODEL_PORT);
      await useFiles(scene, model);
    });
    await step("another agent cannot read or change them", () => keepFilesPrivate(scene, model));
  } finally {
    await model.close();
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
});
