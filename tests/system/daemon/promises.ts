/**
 * The promises of a root daemon to users who share a host with hostile users. Each is tested on a
 * booted host with real uids, namespaces and processes. Those that need no host are in
 * `tests/units/daemon/promises_test.ts`; docs/access.md lists all of them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import { parseEnvelope } from "core/verbs/exec_envelope.ts";
import { answerOf, type DaemonScene, EXEC, SOCKET } from "tests/system/daemon/scene.ts";
import { withExec } from "tests/system/daemon/walk.ts";
import { DAEMON } from "tests/support/packaged_host.ts";

const NOBODY = 65_534;
const APPLY = { argv: ["apply"] };
const LINE = `${JSON.stringify(APPLY)}\n`;

/** Promises 1 and 6: the uid is a plain 32-bit number, read when the connection is accepted. */
export async function oddUids(scene: DaemonScene): Promise<void> {
  for (const uid of [1, 999, NOBODY, 2_147_483_647, 2_147_483_648, 4_294_967_294]) {
    const [frame] = await scene.ask(uid, [APPLY]);
    assert.equal(answerOf(frame), "caller-unknown", `uid ${uid}`);
    const row = (await scene.audit("--caller", String(uid))).at(-1);
    assert.deepEqual([row?.uid, row?.caller, row?.allowed], [uid, `other:${uid}`, false]);
  }
}

/** Promise 7: root in a separate user namespace is not the root of the host. */
export async function namespaces(scene: DaemonScene): Promise<void> {
  const nobody = ["setpriv", `--reuid=${NOBODY}`, "--clear-groups", "--"];
  const rows: readonly (readonly [string, readonly string[], number])[] = [
    ["root of a user's own user namespace", [...nobody, "unshare", "-U", "-r"], NOBODY],
    ["root of a user namespace that maps the host's root", ["unshare", "-U", "-r"], 0],
    ["root of a process namespace", ["unshare", "-p", "-f"], 0],
  ];
  for (const [name, words, uid] of rows) {
    const [frame] = await scene.askThrough([...words, "--"], [APPLY]);
    assert.equal(answerOf(frame), "caller-unknown", name);
    const row = (await scene.audit("--denied")).at(-1);
    assert.deepEqual([row?.uid, row?.caller], [uid, `other:${uid}`], name);
  }
  const [own] = await scene.askThrough(["unshare", "-m", "--"], [{ argv: ["agents", "list"] }]);
  assert.equal(answerOf(own), "exit 0", "a mount namespace changes nothing about who root is");
  const abstract = await scene.must("cat", "/proc/net/unix");
  assert.doesNotMatch(abstract, /@.*fleetctl/, "no socket of fleetctl is abstract");
}

/**
 * Promise 2: a process of the user `nobody` connects, hands the connection on and ends. A process
 * of root gets its pid. Only then the request is sent.
 */
export async function reusedPid(scene: DaemonScene): Promise<void> {
  const program = `
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
ready, go = os.pipe(), os.pipe()
first = os.fork()
if first == 0:
    os.setresuid(${NOBODY}, ${NOBODY}, ${NOBODY})
    s.connect("${SOCKET}")
    if os.fork() == 0:
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        s.sendall(${JSON.stringify(LINE)}.encode())
        data = b""
        while part := s.recv(65536):
            data += part
        print(data.decode().strip().split("\\n")[-1], flush=True)
    os._exit(0)
os.waitpid(first, 0)
os.read(ready[0], 1)
s.close()
taken = 0
for _ in range(2000):
    with open("/proc/sys/kernel/ns_last_pid", "w") as f:
        f.write(str(first - 1))
    taken = os.fork()
    if taken == 0:
        os.read(go[0], 1)
        os._exit(0)
    if taken == first:
        break
    os.kill(taken, 9)
    os.waitpid(taken, 0)
print("reused" if taken == first else f"not reused: {taken} {first}", flush=True)
os.write(go[1], b"xx")
os.waitpid(taken, 0)
`;
  // The kernel setting for the next pid is read-only on a host like this one.
  const ended = await scene.run([
    "unshare",
    "-m",
    "sh",
    "-c",
    'mount -o remount,rw,bind /proc/sys && exec python3 -c "$1"',
    "sh",
    program,
  ]);
  assert.match(ended.out, /^reused$/m, ended.err);
  assert.match(ended.out, /"code":"caller-unknown"/, ended.out + ended.err);
}

/**
 * Promise 8: the daemon keeps no descriptor that comes with a request, and serves one request per
 * connection.
 */
export async function passedDescriptors(scene: DaemonScene): Promise<void> {
  const count = async () => {
    const pid = await scene.property(DAEMON, "MainPID");
    return (await scene.must("ls", `/proc/${pid}/fd`)).trim().split("\n").length;
  };
  const program = `
import array, json, os, socket
s = socket.socket(socket.AF_UNIX)
s.connect("${SOCKET}")
fds = [os.open("/etc/passwd", os.O_RDONLY) for _ in range(50)]
line = json.dumps({"argv": ["agents", "list"]}).encode() + b"\\n"
s.sendmsg([line + line + line], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
data = b""
try:
    while part := s.recv(65536):
        data += part
except OSError:
    pass
print(data.decode().count('"exit"') + data.decode().count('"refused"'))
`;
  const before = await count();
  const ended = await scene.python(program);
  assert.equal(ended.out.trim(), "1", ended.err);
  assert.ok(await count() <= before + 2, "descriptors pile up in the daemon");
}

/** Promise 12 and the limits: a thousand connections of one uid, slow writers, half-open ones. */
export async function crowd(scene: DaemonScene): Promise<void> {
  const program = `
import os, resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
os.setresuid(int(sys.argv[1]), int(sys.argv[1]), int(sys.argv[1]))
held = []
for at in range(1000):
    s = socket.socket(socket.AF_UNIX)
    s.connect("${SOCKET}")
    try:
        s.sendall(b'{"argv":' if at % 2 else b"")
    except OSError:
        pass
    held.append(s)
print("open", flush=True)
sys.stdin.readline()
served = refused = 0
for s in held:
    data = b""
    try:
        while part := s.recv(65536):
            data += part
    except OSError:
        pass
    refused += b'"daemon-busy"' in data
    served += b'"request-invalid"' in data
print(served, refused, flush=True)
`;
  const bob = await scene.uidOf("bob");
  const child = await scene.host.processes.spawn({
    command: "/usr/bin/python3",
    args: ["-c", program, String(bob)],
    env: { PATH: "/usr/bin:/bin" },
  });
  const lines = child.stdout.pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>;
  const errors = new Response(child.stderr as ReadableStream<Uint8Array<ArrayBuffer>>).text();
  assert.match(String((await lines.read()).value), /^open/, "a thousand connections");
  const busy = (await scene.ask(bob, [APPLY]).catch((fault) => fault)) as unknown;
  assert.match(JSON.stringify(busy), /daemon-busy|operator-only/);
  for (const user of ["ada", "zoe", "fleetctl-gateway"]) {
    const [frame] = await scene.ask(await scene.uidOf(user), [{ argv: ["agents", "list"] }]);
    assert.notEqual(answerOf(frame), "daemon-busy", user);
  }
  assert.equal((await scene.ada("agents list")).code, 0, "others are served meanwhile");
  assert.equal((await scene.run(["fleetctl", "agents", "list"])).code, 0);
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode("\n"));
  await writer.close();
  const [served, refused] = String((await lines.read()).value).trim().split(" ").map(Number);
  await child.exited;
  await lines.cancel();
  assert.ok((refused ?? 0) >= 900, `${served} ${refused} ${await errors}`);
  const flood = (await scene.audit("--caller", String(bob), "--denied"))
    .filter(({ code }) => code === "daemon-busy");
  assert.ok(flood.length >= 1 && flood.length <= 4, `${flood.length} rows of one flood`);
  assert.equal((await scene.ask(bob, [{ argv: ["agents", "list"] }])).map(answerOf)[0], "exit 0");
}

/** A program that keeps its stdin and reports how it was started. */
const PROBE = `#!/usr/bin/python3
import json, os, sys
listed = os.listdir("/proc/self/fd")
told = {
    "fds": sorted(int(fd) for fd in listed if os.path.exists(f"/proc/self/fd/{fd}")),
    "argv": sys.argv,
    "env": dict(os.environ),
    "cwd": os.getcwd(),
    "leads": os.getpgid(0) == os.getpid(),
    "stdin": sys.stdin.read(),
}
with open("/run/probe.json", "w") as file:
    json.dump(told, file)
sys.exit(7)
`;

interface Probed {
  readonly fds: readonly number[];
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly leads: boolean;
  readonly stdin: string;
}

/** Promise 5: fixed path, no arguments, cleared environment, fixed folder, closed descriptors. */
export async function rootProgram(scene: DaemonScene): Promise<void> {
  await withExec(scene, PROBE, async () => {
    const hostile = {
      LD_PRELOAD: "/tmp/x.so",
      FLEETCTL_ROOT: "/tmp",
      IFS: "/",
      BASH_ENV: "/tmp/x",
    };
    const words = Object.entries(hostile).map(([name, value]) => `${name}=${value}`);
    const [frame] = await scene.askThrough(["env", ...words], [
      { argv: ["agents", "set", "--model=-rf", "--", "ada"], stdin: "hunter2" },
    ]);
    assert.equal(answerOf(frame), "exit 7", "the code of the program is passed on");
  });
  const probed = JSON.parse(await scene.must("cat", "/run/probe.json")) as Probed;
  // Python itself sets the locale of its standard streams.
  const { LC_CTYPE: _, ...env } = probed.env;
  assert.deepEqual({ ...probed, env, stdin: "" }, {
    fds: [0, 1, 2],
    argv: [EXEC],
    env: {
      FLEETCTL_ROOT: "/",
      LC_ALL: "C.UTF-8",
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    },
    cwd: "/",
    leads: true,
    stdin: "",
  });
  assert.match(probed.stdin, /hunter2/);
  const processes = await scene.must("ps", "-eo", "args");
  assert.doesNotMatch(processes, /hunter2/);
}

/** A grant is valid once, only for its request, and cannot be made without reading the key. */
export async function grants(scene: DaemonScene): Promise<void> {
  await withExec(scene, "#!/bin/sh\ncat > /run/envelope\n", async () => {
    await scene.ask(0, [{ argv: ["agents", "set", "--model=small-1", "--", "bob"] }]);
  });
  const text = await scene.must("cat", "/run/envelope");
  const envelope = parseEnvelope(text);
  assert.ok(envelope.ok);
  const run = (input: string, user?: string) => scene.run([EXEC], { input, ...defined({ user }) });
  const changed = (from: string, to: string) => {
    assert.ok(text.includes(from), from);
    return text.replace(from, to);
  };
  const forged: readonly (readonly [string, string, RegExp])[] = [
    ["another verb", changed("small-1", "large-1"), /its signature does not match/],
    ["another caller", changed('"kind":"operator"', '"kind":"gateway"'), /does not match/],
    ["another uid", changed('"uid":0', '"uid":1'), /does not match/],
    [
      "a later end",
      text.replace(/"expiresAt":\d+/, '"expiresAt":99999999999999'),
      /does not match/,
    ],
    ["no signature", text.replace(/"mac":"[0-9a-f]+"/, '"mac":""'), /does not match/],
    ["another nonce", text.replace(/"nonce":"[0-9a-f]{2}/, '"nonce":"zz'), /does not match/],
    ["nothing", "", /is not JSON/],
    ["nonsense", "\u0000\u0000", /is not JSON/],
  ];
  for (const [name, input, says] of forged) {
    const ended = await run(input);
    assert.notEqual(ended.code, 0, name);
    assert.match(ended.err, says, name);
  }
  const asAda = await run(text, "ada");
  assert.notEqual(asAda.code, 0);
  assert.match(asAda.err, /Cannot/);
  const first = await run(text);
  assert.equal(first.code, 0, first.err);
  const second = await run(text);
  assert.match(second.err, /the grant is unusable, it was used before/);
  assert.match(await scene.must("fleetctl", "agents", "show", "bob"), /small-1/);
}

/** Promise 9: what a caller may not know about looks the same whether it exists or not. */
export async function alike(scene: DaemonScene): Promise<void> {
  const ada = await scene.uidOf("ada");
  const requests = (name: string) => [
    { argv: ["mcp", "wired", "--", name] },
    { argv: ["agents", "show", "--", name] },
    { argv: ["agents", "restart", "--", name] },
    { argv: ["secret", "get", `--agent=${name}`, "--", "KEY"] },
    { argv: ["agents", "list"], as: name },
  ];
  for (const uid of [ada, NOBODY]) {
    const there = JSON.stringify(await scene.ask(uid, requests("bob")));
    const gone = JSON.stringify(await scene.ask(uid, requests("nix")));
    assert.equal(gone.replaceAll("nix", "bob"), there);
    assert.doesNotMatch(there, /agent-unknown|"exit"/);
  }
}

/** Promise 10: input of a caller can neither control a terminal nor forge a log line. */
export async function plainLogs(scene: DaemonScene): Promise<void> {
  const ada = await scene.uidOf("ada");
  const odd = "x\u009b31m\u202ey\u2028z";
  await scene.ask(ada, [{ argv: ["mcp", "wired", "--", odd] }, {
    argv: ["secret", "set", "--", odd],
  }]);
  const shown = await scene.must("fleetctl", "audit", "list", "--caller", "ada");
  const journal = await scene.must("journalctl", "--no-pager", "-a", "-o", "cat", "-u", DAEMON);
  for (const text of [shown, journal]) {
    // deno-lint-ignore no-control-regex -- control characters are what is looked for
    assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e\u2028]/);
  }
  assert.match(shown, /x\\u\{9b\}31m\\u\{202e\}y\\u\{2028\}z/);
}
