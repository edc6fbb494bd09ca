/**
 * A host with real systemd as PID 1, booted in about a second. Its root is this machine's root
 * under a temporary overlay. It runs in its own namespaces, without a network. Needs root. For
 * several hosts on one private network, see `tests/support/host_lan.ts`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import type { Child, Processes, ProcessExit, ProcessSpec } from "core/ports/processes.ts";
import { systemProcesses } from "core/os/processes.ts";

/** A running host. */
export interface BootedHost {
  /** Its hostname. */
  readonly name: string;
  /** Its root folder as seen from outside; `/run` and `/tmp` inside are separate mounts. */
  readonly root: string;
  /** Programs started through this run inside the host. */
  readonly processes: Processes;
  /** Runs a program inside the host until it ends, as root or as `user` with that user's groups. */
  exec(words: readonly string[], as?: ExecAs): Promise<Ended>;
  /** Runs a program that must succeed, and returns its output. */
  must(...words: readonly string[]): Promise<string>;
  /** Returns diagnostics for a failed step: the failed units and the end of the journal. */
  report(): Promise<string>;
  /** Returns the outside path of a file of the host, `/run` included. Valid until the next boot. */
  path(inside: string): string;
  /** Reads a file as the host sees it, `/run` included. */
  read(path: string): Promise<string>;
  /** Opens a unix socket outside whose connections reach a TCP port on the host's loopback. */
  bridge(port: number): Promise<{ readonly socket: string; close(): Promise<void> }>;
  /** Boots again, as `systemctl reboot` inside does; bridges close. */
  reboot(): Promise<void>;
  /** Ends every process at once, as a loss of power does, and boots again; bridges close. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

/** Exit code and output of a program inside the host. */
export interface Ended {
  readonly code: number | undefined;
  readonly out: string;
  readonly err: string;
}

/** The user that runs a program inside, and its stdin. */
export interface ExecAs {
  readonly user?: string;
  readonly input?: string;
}

/** Boot options. */
export interface BootOptions {
  /** Its hostname, which also distinguishes hosts within one test process; `solo` when absent. */
  readonly name?: string;
  /**
   * The network namespace of the host; it survives a reboot. When absent, the host gets a private,
   * empty one.
   */
  readonly network?: string;
  /** Changes the root before the first boot. */
  readonly prepare?: (root: string) => Promise<void>;
  /**
   * `basic.target` boots fastest. `multi-user.target` starts what is enabled inside; of this
   * machine's own services, only those that the distribution enables.
   */
  readonly target?: "basic.target" | "multi-user.target";
  /**
   * With `controllers`, units' memory and task limits apply even where this machine's kernel keeps
   * its controllers in the older hierarchy (cgroup v1). Address rules then do not apply.
   */
  readonly enforces?: "addresses" | "controllers";
}

/** Longest time that a boot may take. */
const BOOT_MS_MAX = 60_000;
const PATH = "/usr/bin:/bin:/usr/sbin:/sbin";
const LOGIN_PATH = `/usr/local/sbin:/usr/local/bin:${PATH}`;
const COMMAND_MS_MAX = 60_000;
const POLL_MS = 20;
/** Lines of the journal in a report. */
const JOURNAL_LINES = 150;
/** Exit code of the launcher when the host inside requests a reboot. */
const REBOOT_CODE = 133;

const CLEAN = `
umount "$1/root"; umount "$1"; rmdir "$1"
cd /sys/fs/cgroup
for folder in systemd unified . memory pids; do
  [ -d "$folder/$2" ] && find "$folder/$2" -depth -type d -exec rmdir {} +
done
true
`;

/**
 * Moves itself into a separate control group, which PID 1 inside needs, and boots. A watcher reads
 * the launcher's stdin. It ends when the process that runs the tests ends, even by a kill; the
 * watcher then ends the host and removes what it leaves behind.
 */
const BOOT = `
# A shell gives a background command no stdin, so the watcher reads another descriptor.
exec 3<&0 < /dev/null
(
  exec > /dev/null 2>&1
  cat <&3
  grep -qF -- "$2" "/proc/$$/cmdline" || exit 0
  set -- "\${1%/root}" "$2"
  cd /sys/fs/cgroup
  # PID 1 inside does not end with its launcher, and its processes take a moment to end.
  for try in $(seq 100); do
    find . -path "*/$2/*" -name cgroup.procs -exec cat {} + | xargs -r kill -s KILL
    ${CLEAN}
    [ -e "$1" ] || find . -maxdepth 2 -name "$2" | grep -q . || break
    sleep 0.1
  done
) &
exec 3<&-
[ "$6" = controllers ] && more="/sys/fs/cgroup/memory /sys/fs/cgroup/pids"
for folder in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified /sys/fs/cgroup $more; do
  [ -e "$folder/cgroup.procs" ] || continue
  mkdir -p "$folder/$2" && echo $$ > "$folder/$2/cgroup.procs" || exit 1
done
[ "$6" = controllers ] || export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1
exec systemd-nspawn -q -D "$1" -M "$2" --hostname="$4" --boot --register=no --keep-unit \\
  --console=pipe "$5" --resolv-conf=off --timezone=off --link-journal=no systemd.unit="$3"
`;

const MOUNT = `
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
: > "$1/root/etc/machine-id"
rm -f "$1/root/etc/hostname"
rm -f "$1"/root/etc/systemd/system/*.wants/*
`;

/**
 * The launcher mounts the host's controllers read-only. PID 1 checks only once which it may use, so
 * this remounts them writable.
 */
const GIVE_CONTROLLERS = `
for name in memory pids; do
  folder=/sys/fs/cgroup/$name
  [ ! -d "$folder" ] || nsenter -t "$1" -m -- mount -o remount,bind,rw "$folder"
done
`;

/** One boot: the launcher outside, and PID 1 inside. */
interface Boot {
  readonly launcher: Child;
  readonly output: Promise<unknown>;
  readonly leader: number;
}

/** Boots a host and waits until it is up. */
export async function bootHost(options: BootOptions = {}): Promise<BootedHost> {
  const processes = systemProcesses();
  const folder = await Deno.makeTempDir();
  const { name = "solo", target = "basic.target", network, enforces = "addresses" } = options;
  const machine = `fleetctl-test-${Deno.pid}-${name}`;
  const root = `${folder}/root`;
  await shell(processes, MOUNT, [folder]);
  let boot: Boot | undefined;
  const inside = processesInside(processes, () => boot?.leader ?? 0);
  const start = async () => {
    const net = network === undefined ? "--private-network" : `--network-namespace-path=${network}`;
    boot = await launch(processes, [root, machine, target, name, net, enforces]);
    await waitUntilUp(inside);
    if (enforces === "controllers") {
      await shell(processes, GIVE_CONTROLLERS, [String(boot.leader)]);
      await mustInside(inside, ["systemctl", "daemon-reexec"]);
    }
  };
  const stop = async () => {
    if (boot !== undefined) {
      await shell(processes, 'kill -s RTMIN+4 "$1" || true', [String(boot.leader)]);
      await ended(boot);
    }
    await shell(processes, CLEAN, [folder, machine]);
  };
  try {
    await options.prepare?.(root);
    await start();
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  return {
    name,
    root,
    processes: inside,
    exec: (words, as) => execInside(inside, words, as),
    must: (...words) => mustInside(inside, words),
    report: () => reportOf(inside),
    path: (inside) => `/proc/${boot?.leader}/root${inside}`,
    read: (path) => Deno.readTextFile(`/proc/${boot?.leader}/root${path}`),
    bridge: (port) => openBridge(processes, boot?.leader ?? 0, { port, folder }),
    reboot: async () => {
      const before = boot;
      await inside.run({ command: "systemctl", args: ["reboot"], env: { PATH } });
      const exit = await ended(before);
      boot = undefined;
      assert.equal(exit?.code, REBOOT_CODE, "the host was to boot again");
      await start();
    },
    crash: async () => {
      const before = boot;
      await shell(processes, 'kill -s KILL "$1"', [String(before?.leader)]);
      await ended(before);
      boot = undefined;
      await start();
    },
    stop,
  };
}

async function execInside(
  inside: Processes,
  words: readonly string[],
  { user = "root", input }: ExecAs = {},
): Promise<Ended> {
  const become = user === "root"
    ? []
    : ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--init-groups", "--"];
  const [command = "", ...args] = [...become, ...words];
  const home = user === "root" ? "/root" : `/home/${user}`;
  const { code, stdout, stderr } = await inside.run({
    command,
    args,
    env: { PATH: LOGIN_PATH, HOME: home, USER: user, LC_ALL: "C.UTF-8" },
    timeoutMs: COMMAND_MS_MAX,
    ...defined({ input }),
  });
  return { code, out: stdout, err: stderr };
}

async function mustInside(inside: Processes, words: readonly string[]): Promise<string> {
  const ended = await execInside(inside, words);
  assert.equal(ended.code, 0, `${words.join(" ")}\n${ended.out}${ended.err}`);
  return ended.out;
}

async function reportOf(inside: Processes): Promise<string> {
  const failed = await execInside(inside, ["systemctl", "--failed", "--no-pager", "--plain"]);
  const journal = await execInside(
    inside,
    ["journalctl", "-b", "--no-pager", "-n", String(JOURNAL_LINES)],
  );
  return `${failed.out}${failed.err}\n${journal.out}${journal.err}`;
}

async function launch(processes: Processes, words: readonly string[]): Promise<Boot> {
  const launcher = await processes.spawn({
    command: "/bin/sh",
    args: ["-c", BOOT, "sh", ...words],
    env: { PATH },
    group: true,
  });
  const output = Promise.all(
    [launcher.stdout, launcher.stderr].map((stream) =>
      new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text()
    ),
  );
  try {
    return { launcher, output, leader: await findLeader(processes, launcher.pid) };
  } catch (thrown) {
    launcher.kill("SIGKILL");
    await ended({ launcher, output });
    throw thrown;
  }
}

/** Waits until a launcher has ended, and ends its watcher. */
async function ended(boot: Omit<Boot, "leader"> | undefined): Promise<ProcessExit | undefined> {
  const exit = await boot?.launcher.exited;
  await boot?.launcher.stdin.close();
  await boot?.output;
  return exit;
}

/**
 * The host has its own network namespace, so a program that can access both sides forwards bytes.
 */
async function openBridge(
  processes: Processes,
  leader: number,
  to: { readonly port: number; readonly folder: string },
): Promise<{ readonly socket: string; close(): Promise<void> }> {
  // A name for each bridge: two bridges to one port may be open at once.
  const socket = `${to.folder}/port-${to.port}-${crypto.randomUUID().slice(0, 8)}.sock`;
  const child = await processes.spawn({
    command: "/usr/bin/nsenter",
    args: ["-t", String(leader), "-n", "--"].concat(
      ["socat", `UNIX-LISTEN:${socket},fork,unlink-early`, `TCP:127.0.0.1:${to.port}`],
    ),
    env: { PATH },
    group: true,
  });
  await child.stdin.close();
  const output = Promise.all([child.stdout, child.stderr].map((stream) => stream.cancel()));
  const close = async () => {
    child.kill("SIGTERM");
    await child.exited;
    await output;
  };
  try {
    await poll("socket of a bridge", () => isListening(socket));
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return { socket, close };
}

/** A socket file exists before its program listens, so only a connection proves it. */
async function isListening(path: string): Promise<true | undefined> {
  try {
    (await Deno.connect({ transport: "unix", path })).close();
    return true;
  } catch {
    return undefined;
  }
}

/** Runs a shell script on this machine. Fails when the script fails. */
export async function shell(
  processes: Processes,
  script: string,
  args: readonly string[],
): Promise<string> {
  const answer = await processes.run({
    command: "/bin/sh",
    args: ["-c", script, "sh", ...args],
    env: { PATH },
    timeoutMs: COMMAND_MS_MAX,
  });
  assert.equal(answer.code, 0, answer.timedOut ? "no end within a minute" : answer.stderr);
  return answer.stdout;
}

/** Calls `ask` until it returns a value. The host sends no signal while it boots. */
export async function poll<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + BOOT_MS_MAX;
  while (performance.now() < end) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`Cannot boot a host: no ${what} within ${BOOT_MS_MAX / 1000} s`);
}

/** The launcher prepares in a short-lived child. The child that remains is PID 1 of a namespace. */
const LEADER = `
for pid in $(ps -o pid= --ppid "$1"); do
  grep -q '^NSpid:.*[[:space:]]1$' "/proc/$pid/status" 2>/dev/null && echo "$pid"
done
true
`;

function findLeader(processes: Processes, launcher: number): Promise<number> {
  return poll("PID 1", async () => {
    const text = await shell(processes, LEADER, [String(launcher)]);
    return /\d+/.test(text) ? Number(text.trim()) : undefined;
  });
}

function waitUntilUp(inside: Processes): Promise<true> {
  return poll("systemd that runs", async () => {
    const { stdout } = await inside.run({
      command: "systemctl",
      args: ["is-system-running", "--wait"],
      env: { PATH },
      timeoutMs: COMMAND_MS_MAX,
    });
    return /^(running|degraded)$/m.test(stdout) ? true : undefined;
  });
}

function processesInside(processes: Processes, leader: () => number): Processes {
  const enter = <T extends ProcessSpec>(spec: T): T => ({
    ...spec,
    command: "/usr/bin/nsenter",
    args: [
      "-t",
      String(leader()),
      "-m",
      "-u",
      "-i",
      "-n",
      "-p",
      "-C",
      "--root",
      "--wd",
      "--",
      "env",
      "-i",
      ...Object.entries(spec.env).map(([key, value]) => `${key}=${value}`),
      spec.command,
      ...spec.args,
    ],
    env: { PATH },
  });
  return {
    ...processes,
    run: (spec) => processes.run(enter(spec)),
    spawn: (spec) => processes.spawn(enter(spec)),
  };
}
