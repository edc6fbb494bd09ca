/**
 * One verb through the daemon against `sudo -n true`, in one run on one booted host, as the same
 * user. Measured also while another user holds a thousand connections open. `./dev bench daemon`.
 * Needs root and the right to boot hosts, as the group `system` does.
 *
 * @module
 */

import type { Child } from "core/ports/processes.ts";
import { printTable } from "tests/bench/measure.ts";
import { unmet } from "tests/support/machine.ts";
import { type DaemonScene, openScene, SOCKET } from "tests/system/daemon/scene.ts";
import { withExec } from "tests/system/daemon/walk.ts";

const ROUNDS = 200;
const VERB_ROUNDS = 20;
const MEASURE_MS_MAX = 600_000;

/**
 * Times two things in one Python process: starting `sudo`, and a request to the daemon over its
 * socket.
 */
const MEASURE = `
import json, socket, subprocess, sys, time
def ask(argv):
    while True:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect("${SOCKET}")
            s.sendall(json.dumps({"argv": argv}).encode() + b"\\n")
            data = b""
            while part := s.recv(65536):
                data += part
        if b"daemon-busy" not in data:
            return
        time.sleep(0.2)
def run(words):
    subprocess.run(words, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
subjects = json.loads(sys.argv[1])
times = {name: [] for name in subjects}
for turn in range(-1, int(sys.argv[2])):
    for name, (kind, words) in subjects.items():
        time.sleep(0.07)
        begin = time.perf_counter()
        ask(words) if kind == "ask" else run(words)
        if turn >= 0:
            times[name].append((time.perf_counter() - begin) * 1000)
print(json.dumps(times))
`;

/** Holds a thousand connections that send no request, and reopens them repeatedly. */
const CROWD = `
import os, resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
held = []
while True:
    for s in held:
        s.close()
    held = []
    for _ in range(1000):
        s = socket.socket(socket.AF_UNIX)
        s.connect("${SOCKET}")
        held.append(s)
    print("open", flush=True)
    time.sleep(1)
`;

type Subjects = Readonly<Record<string, readonly ["ask" | "run", readonly string[]]>>;

/** Boots a host, measures, prints. */
export async function benchDaemon(): Promise<void> {
  const lacks = await unmet("root") ?? await unmet("booted-hosts");
  if (lacks !== undefined) {
    console.log(`not measured: ${lacks}`);
    return;
  }
  const { host, scene } = await openScene();
  try {
    await scene.settled();
    const hasSudo = (await scene.run(["test", "-x", "/usr/bin/sudo"])).code === 0;
    if (hasSudo) await letSudo(scene);
    else console.log("sudo is not on this machine (apt-get install sudo): no peer");
    const peer: Subjects = hasSudo ? { "sudo -n true": ["run", ["sudo", "-n", "true"]] } : {};
    console.log("\nThe daemon with a root program that does nothing, as `true` does nothing:\n");
    await withExec(scene, "#!/bin/sh\nexec cat > /dev/null\n", async () => {
      await measure(scene, ROUNDS, {
        ...peer,
        "allowed verb over the socket": ["ask", ["secret", "get", "--", "KEY"]],
        "denied verb over the socket": ["ask", ["apply"]],
      });
      console.log("\nThe same while another user holds and renews 1,000 connections:\n");
      await withCrowd(scene, () =>
        measure(scene, ROUNDS, {
          ...peer,
          "allowed verb over the socket": ["ask", ["secret", "get", "--", "KEY"]],
        }));
    });
    console.log("\nWhole verbs, with the real root program:\n");
    await measure(scene, VERB_ROUNDS, {
      ...peer,
      "agents list over the socket": ["ask", ["agents", "list"]],
      "fleetctl agents list": ["run", ["fleetctl", "agents", "list"]],
    });
  } finally {
    await host.stop();
  }
}

async function letSudo(scene: DaemonScene): Promise<void> {
  const rule = `${scene.host.root}/etc/sudoers.d/ada`;
  await Deno.writeTextFile(rule, "ada ALL=(root) NOPASSWD: /usr/bin/true\n", { mode: 0o440 });
}

async function measure(scene: DaemonScene, rounds: number, subjects: Subjects): Promise<void> {
  const ended = await scene.host.processes.run({
    command: "setpriv",
    args: [
      "--reuid=ada",
      "--regid=ada",
      "--init-groups",
      "--",
      "/usr/bin/python3",
      "-c",
      MEASURE,
      JSON.stringify(subjects),
      String(rounds),
    ],
    env: {
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      HOME: "/home/ada",
    },
    timeoutMs: MEASURE_MS_MAX,
  });
  if (ended.code !== 0) throw new Error(ended.timedOut ? "no end in time" : ended.stderr);
  printTable(new Map(Object.entries(JSON.parse(ended.stdout) as Record<string, number[]>)));
}

async function withCrowd(scene: DaemonScene, work: () => Promise<void>): Promise<void> {
  const crowd: Child = await scene.host.processes.spawn({
    command: "setpriv",
    args: ["--reuid=bob", "--clear-groups", "--", "/usr/bin/python3", "-c", CROWD],
    env: { PATH: "/usr/bin:/bin" },
    group: true,
  });
  const reader = crowd.stdout.getReader();
  try {
    await reader.read();
    await work();
  } finally {
    crowd.kill("SIGKILL");
    await reader.cancel();
    await crowd.stderr.cancel();
    await crowd.stdin.abort();
    await crowd.exited;
  }
}
