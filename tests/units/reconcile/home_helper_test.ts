/**
 * Attacks of an agent on the helper that works in its home as root's child: links, pipes, devices,
 * leases, full disks, signals. Needs root, because the helper switches to another uid.
 *
 * @module
 */

import assert from "node:assert/strict";
import { systemClock } from "core/os/clock.ts";
import { systemProcesses } from "core/os/processes.ts";
import { FileFault } from "core/ports/files.ts";
import type { Child, Processes, ProcessSpec } from "core/ports/processes.ts";
import type { HomeFiles } from "units/reconcile/home_files.ts";
import { openHomeHelper } from "units/reconcile/home_helper.ts";

const NOBODY = { name: "nobody", uid: 65534, gid: 65534, home: "/" };
/** An account that Debian provides, with another uid. */
const GAMES = { name: "games", uid: 5, gid: 60, home: "/" };
const PATH = ".runtime-b/agent/mcp.json";

interface Scene {
  /** The home; `at` is the path of the file in it. */
  readonly home: string;
  readonly at: string;
  readonly files: HomeFiles;
  /** The other agent's home, and a folder that only root can access. */
  readonly other: string;
  readonly secret: string;
  readonly otherFiles: HomeFiles;
  /** Helpers that were started. */
  readonly helpers: readonly Child[];
  /** Runs a shell script as the agent, in its home. */
  asAgent(script: string): Promise<void>;
}

async function as(uid: number, words: readonly string[], cwd: string): Promise<number> {
  const { code } = await new Deno.Command("/usr/bin/setpriv", {
    args: [`--reuid=${uid}`, "--regid=65534", "--clear-groups", "--", ...words],
    cwd,
    stdout: "null",
    stderr: "null",
  }).output();
  return code;
}

/** Sets up two homes and a helper; `homeMsMax` limits the time for one home. */
async function withScene(work: (scene: Scene) => Promise<void>, homeMsMax = 60_000) {
  const folder = await Deno.makeTempDir();
  const helpers: Child[] = [];
  const real = systemProcesses();
  const processes: Pick<Processes, "spawn"> = {
    spawn: async (spec: ProcessSpec) => {
      const child = await real.spawn(spec);
      helpers.push(child);
      return child;
    },
  };
  const homes = openHomeHelper({ processes, clock: systemClock() }, homeMsMax);
  try {
    await Deno.chmod(folder, 0o755);
    const [home, other, secret] = ["home", "other", "secret"].map((name) => `${folder}/${name}`);
    for (const path of [home, other, secret]) await Deno.mkdir(path as string, { mode: 0o700 });
    await Deno.chown(home as string, NOBODY.uid, NOBODY.gid);
    await Deno.chown(other as string, GAMES.uid, GAMES.gid);
    await Deno.writeTextFile(`${secret}/mcp.json`, "root's");
    await work({
      home: home as string,
      at: `${home}/${PATH}`,
      other: other as string,
      secret: secret as string,
      files: homes.of(NOBODY, home as string),
      otherFiles: homes.of(GAMES, other as string),
      helpers,
      asAgent: async (script) => {
        const code = await as(NOBODY.uid, ["/bin/sh", "-ec", script], home as string);
        assert.equal(code, 0, script);
      },
    });
  } finally {
    await homes.close();
    await Deno.remove(folder, { recursive: true });
  }
}

function attack(name: string, work: (scene: Scene) => Promise<void>, homeMsMax?: number): void {
  Deno.test({
    name: `openHomeHelper() ${name}`,
    ignore: Deno.uid() !== 0,
    fn: () => withScene(work, homeMsMax),
  });
}

async function fault(work: Promise<unknown>): Promise<string> {
  const thrown = await work.then(() => undefined, (one) => one);
  assert.ok(thrown instanceof FileFault, String(thrown));
  return `${thrown.code} ${thrown.message}`;
}

const KINDS = [
  ["a pipe", "mkfifo mcp.json", "EIO it is a pipe, must be a plain file"],
  [
    "a link to root's file",
    "ln -s /etc/shadow mcp.json",
    "ELOOP it is a link, must be a plain file",
  ],
  ["a link to itself", "ln -s mcp.json mcp.json", "ELOOP it is a link, must be a plain file"],
  ["a link to a device", "ln -s /dev/zero mcp.json", "ELOOP it is a link, must be a plain file"],
  ["a folder", "mkdir mcp.json", "EISDIR it is a folder, must be a plain file"],
  [
    "a socket",
    "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => q(mcp.json), Listen => 1) or die'",
    "EIO it is a socket, must be a plain file",
  ],
  [
    "a huge file",
    "truncate -s 1T mcp.json",
    "EIO it is a file of more than 1 MiB, must be a plain file",
  ],
  [
    "a file without the right to read it",
    "touch mcp.json; chmod 0 mcp.json",
    "EACCES Permission denied",
  ],
] as const;
for (const [name, script, expected] of KINDS) {
  attack(`does not read ${name}, does not wait, and continues with others`, async (scene) => {
    await scene.asAgent(`mkdir -p .runtime-b/agent; cd .runtime-b/agent; ${script}`);
    assert.equal(await fault(scene.files.read(scene.at)), expected);
    await scene.otherFiles.write(`${scene.other}/${PATH}`, "other", 0o600);
    assert.equal((await scene.otherFiles.read(`${scene.other}/${PATH}`))?.text, "other");
    assert.equal(scene.helpers.length, 1, "no helper was given up");
  });
}

attack("does not open a device", async (scene) => {
  await scene.asAgent("mkdir -p .runtime-b/agent");
  const made = await new Deno.Command("mknod", { args: [scene.at, "c", "1", "5"] }).output();
  assert.ok(made.success);
  await Deno.chmod(scene.at, 0o666);
  assert.match(await fault(scene.files.read(scene.at)), /it is a device|Permission denied/);
});

attack("follows no link on the way, wherever it is", async (scene) => {
  for (const at of [".runtime-b", ".runtime-b/agent"]) {
    const parent = at.includes("/") ? "mkdir -p .runtime-b;" : "";
    await scene.asAgent(`rm -rf .runtime-b; ${parent} ln -s ${scene.secret} ${at}`);
    assert.match(await fault(scene.files.read(scene.at)), /^ENOTDIR a parent folder is a link/);
    assert.match(await fault(scene.files.write(scene.at, "mine", 0o600)), /^ENOTDIR/);
    assert.match(await fault(scene.files.ensureFolder(`${scene.at}/new`, 0o700)), /^ENOTDIR/);
    assert.equal(await scene.files.folderMode(scene.at), undefined);
    assert.equal(await scene.files.isFilled(`${scene.home}/.runtime-b`), at !== ".runtime-b");
  }
  assert.deepEqual([...Deno.readDirSync(scene.secret)].map(({ name }) => name), ["mcp.json"]);
  assert.equal(await Deno.readTextFile(`${scene.secret}/mcp.json`), "root's");
});

attack(
  "reads and writes no other user's file while a folder turns into a link and back",
  async (scene) => {
    await scene.otherFiles.write(`${scene.other}/agent/mcp.json`, "games'", 0o644);
    await scene.asAgent("mkdir -p .runtime-b/agent; echo mine > .runtime-b/agent/mcp.json");
    const turner = new Deno.Command("/usr/bin/setpriv", {
      args: [
        `--reuid=${NOBODY.uid}`,
        "--regid=65534",
        "--clear-groups",
        "--",
        "/usr/bin/perl",
        "-e",
        `for (;;) {
         rename ".runtime-b", ".kept"; symlink "${scene.secret}", ".runtime-b";
         unlink ".runtime-b"; symlink "${scene.other}", ".runtime-b";
         unlink ".runtime-b"; rename ".kept", ".runtime-b";
       }`,
      ],
      cwd: scene.home,
      stderr: "null",
    }).spawn();
    const texts = new Set<string>();
    try {
      for (let round = 0; round < 300; round++) {
        const read = await scene.files.read(scene.at).catch(() => undefined);
        if (read !== undefined) texts.add(read.text);
        await scene.files.write(scene.at, "mine too", 0o600).catch(() => {});
      }
    } finally {
      turner.kill("SIGKILL");
      await turner.status;
    }
    assert.deepEqual([...texts].filter((text) => !text.startsWith("mine")), []);
    assert.equal(await Deno.readTextFile(`${scene.secret}/mcp.json`), "root's");
    assert.equal(await Deno.readTextFile(`${scene.other}/agent/mcp.json`), "games'");
  },
);

attack("gives an agent nothing through a hard link to another user's file", async (scene) => {
  await scene.asAgent("mkdir -p .runtime-b/agent");
  await Deno.link(`${scene.secret}/mcp.json`, scene.at);
  await Deno.chmod(`${scene.secret}/mcp.json`, 0o600);
  assert.equal(await fault(scene.files.read(scene.at)), "EACCES Permission denied");
  await scene.files.write(scene.at, "mine", 0o600);
  assert.equal(await Deno.readTextFile(`${scene.secret}/mcp.json`), "root's", "it was replaced");
});

attack("does not wait for the holder of a lease", async (scene) => {
  await scene.asAgent("mkdir -p .runtime-b/agent; echo mine > .runtime-b/agent/mcp.json");
  // F_SETLEASE is 1024 and F_WRLCK 1: a process that opens the file and waits is blocked for 45 s.
  const holder = new Deno.Command("/usr/bin/setpriv", {
    args: [
      `--reuid=${NOBODY.uid}`,
      "--regid=65534",
      "--clear-groups",
      "--",
      "/usr/bin/perl",
      "-e",
      `$| = 1; $SIG{IO} = sub {}; open F, "+<", "${PATH}" or die; fcntl F, 1024, 1 or die;
       print "held\\n"; select undef, undef, undef, 0.1 while 1`,
    ],
    cwd: scene.home,
    stdout: "piped",
  }).spawn();
  const reader = holder.stdout.getReader();
  try {
    assert.equal(new TextDecoder().decode((await reader.read()).value), "held\n");
    assert.match(await fault(scene.files.read(scene.at)), /^EAGAIN/);
    await scene.files.write(scene.at, "new", 0o600);
    assert.equal(scene.helpers.length, 1);
  } finally {
    holder.kill("SIGKILL");
    await reader.cancel();
    await holder.status;
  }
});

attack("names a full disk and leaves the old file and no other", async (scene) => {
  await Deno.mkdir(`${scene.home}/small`);
  const mount = await new Deno.Command("mount", {
    args: ["-t", "tmpfs", "-o", "size=64k,mode=777", "tmpfs", `${scene.home}/small`],
  }).output();
  assert.ok(mount.success);
  try {
    const path = `${scene.home}/small/mcp.json`;
    await scene.files.write(path, "old", 0o600);
    assert.match(await fault(scene.files.write(path, "x".repeat(200_000), 0o600)), /^ENOSPC/);
    assert.equal((await scene.files.read(path))?.text, "old");
    const names = [...Deno.readDirSync(`${scene.home}/small`)].map(({ name }) => name);
    assert.deepEqual(names, ["mcp.json"]);
  } finally {
    await new Deno.Command("umount", { args: [`${scene.home}/small`] }).output();
  }
});

attack("says that a home is not there, and makes none", async (scene) => {
  await Deno.remove(scene.home, { recursive: true });
  assert.equal(await scene.files.read(scene.at), undefined);
  assert.match(
    await fault(scene.files.write(scene.at, "x", 0o600)),
    /^ENOENT the home does not exist/,
  );
  assert.match(await fault(scene.files.ensureFolder(scene.at, 0o700)), /^ENOENT/);
});

attack("cannot be signalled, traced or looked into while it works as the agent", async (scene) => {
  await scene.files.write(scene.at, "mine", 0o600);
  const pid = scene.helpers[0]?.pid ?? 0;
  const idsOf = async () =>
    /^Uid:\t(.*)$/m.exec(await Deno.readTextFile(`/proc/${pid}/status`))?.[1] ?? "";
  let isOver = false;
  const work = (async () => {
    while (!isOver) await scene.files.write(scene.at, "mine", 0o600);
  })();
  try {
    // Only the effective uid and the one for file access change to the agent's.
    for (;;) {
      Deno.kill(pid, "SIGSTOP");
      if (await idsOf() === `0\t${NOBODY.uid}\t0\t${NOBODY.uid}`) break;
      Deno.kill(pid, "SIGCONT");
    }
    // PTRACE_ATTACH is 16.
    const trace = `exit(syscall(101, 16, ${pid}, 0, 0) == 0 ? 0 : 1)`;
    const tries = [
      ...["-0", "-9", "-STOP", "-IO"].map((name) => ["/bin/kill", name, String(pid)]),
      ...["environ", "mem", "fd/0", "maps"].map((name) => ["/bin/cat", `/proc/${pid}/${name}`]),
      ["/usr/bin/prlimit", `--pid=${pid}`, "--nofile=1"],
      ["/usr/bin/perl", "-e", trace],
    ];
    for (const words of tries) {
      assert.notEqual(await as(NOBODY.uid, words, "/"), 0, words.join(" "));
    }
  } finally {
    isOver = true;
    Deno.kill(pid, "SIGCONT");
    await work;
  }
  assert.equal(await idsOf(), "0\t0\t0\t0", "it is root again");
  assert.equal(scene.helpers.length, 1);
});

attack("leaves the old file when it is killed, and the next write cleans up", async (scene) => {
  await scene.files.write(scene.at, "old", 0o600);
  const temp = `${scene.home}/.runtime-b/agent/.mcp.json.fleetctl-tmp`;
  await Deno.writeTextFile(temp, "half");
  scene.helpers[0]?.kill("SIGKILL");
  await scene.helpers[0]?.exited;
  assert.match(
    await fault(scene.files.write(scene.at, "new", 0o600)),
    /the helper for homes ended/,
  );
  assert.equal(await Deno.readTextFile(scene.at), "old");
  await scene.files.write(scene.at, "new", 0o600);
  assert.equal(scene.helpers.length, 2, "another helper was started");
  assert.equal(await Deno.readTextFile(scene.at), "new");
  assert.deepEqual([...Deno.readDirSync(`${scene.home}/.runtime-b/agent`)].length, 1);
});

attack("gives up a home that takes too long, and serves the others", async (scene) => {
  await scene.otherFiles.write(`${scene.other}/${PATH}`, "other", 0o600);
  // Simulate a disk that does not respond.
  Deno.kill(scene.helpers[0]?.pid ?? 0, "SIGSTOP");
  assert.match(await fault(scene.files.read(scene.at)), /longer than 1500 ms, must answer sooner/);
  assert.match(await fault(scene.files.read(scene.at)), /longer than 1500 ms/, "at once");
  assert.equal((await scene.otherFiles.read(`${scene.other}/${PATH}`))?.text, "other");
}, 1_500);

attack("uses the agent's own groups and no other", async (scene) => {
  await Deno.mkdir(`${scene.home}/of-group`, { mode: 0o770 });
  await Deno.chown(`${scene.home}/of-group`, 0, 0);
  await Deno.chmod(`${scene.home}/of-group`, 0o770);
  const path = `${scene.home}/of-group/file`;
  assert.match(await fault(scene.files.write(path, "x", 0o600)), /^EACCES/, "not as root's group");
  await scene.files.write(scene.at, "x", 0o600);
  assert.equal((await Deno.stat(scene.at)).gid, NOBODY.gid);
  await scene.otherFiles.write(`${scene.other}/${PATH}`, "x", 0o600);
  assert.equal((await Deno.stat(`${scene.other}/${PATH}`)).gid, GAMES.gid);
});
