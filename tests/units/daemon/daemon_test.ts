/**
 * The daemon on a real unix socket, with well-behaved and hostile clients. `fleetctl-exec` is a
 * fake program here; the real one is in `tests/cli/exec/run_granted_test.ts`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import { splitArguments } from "core/os/argv.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { Host } from "core/ports/host.ts";
import { type DaemonFrame, parseDaemonFrame } from "core/verbs/daemon_frames.ts";
import { readLines } from "core/text/lines.ts";
import { parseEnvelope } from "core/verbs/exec_envelope.ts";
import { checkGrant } from "core/verbs/grant.ts";
import { VERBS } from "core/verbs/table.ts";
import { connectionsMaxOf } from "units/daemon/uid_limits.ts";
import { type Daemon, startDaemon } from "units/daemon/daemon.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";
import type { FakeProgram } from "tests/fakes/processes.ts";

const KEY = "k".repeat(43);

interface World {
  readonly host: MemoryHost;
  readonly paths: Paths;
  readonly root: string;
}

/** A host whose root folder this process owns, so that the tests' own uid is the operator. */
async function world(exec: FakeProgram): Promise<World> {
  const root = await Deno.makeTempDir({ prefix: "fctl" });
  const paths = pathsUnder(root);
  const uid = Deno.uid() ?? 0;
  const host = memoryHost({
    programs: { [paths.program("fleetctl-exec")]: exec },
    users: { currentUid: uid },
  });
  await host.files.ensureDir(root, { uid });
  await host.files.ensureDir(paths.etc);
  await host.files.ensureDir(paths.agentsDir);
  await host.files.write(paths.hostOpKeys, `FLEETCTL_HOST_OP_GRANT_SECRET=${KEY}\n`, {
    mode: 0o600,
    uid,
  });
  await host.files.write(
    paths.agentShard("ada"),
    "name: ada\nchannel: webview\nruntime: runtime-b\n",
  );
  // The socket is on the real file system.
  await Deno.mkdir(paths.run, { recursive: true });
  return { host, paths, root };
}

async function withDaemon(
  exec: FakeProgram,
  use: (world: World, daemon: Daemon) => Promise<void>,
): Promise<void> {
  const it = await world(exec);
  const daemon = await startDaemon({ host: it.host, paths: it.paths, tokenize: splitArguments });
  try {
    await use(it, daemon);
  } finally {
    await daemon.close();
    await Deno.remove(it.root, { recursive: true });
  }
}

/** Sends bytes, then reads frames to the end of the connection. */
async function ask(host: Host, paths: Paths, bytes: string | Uint8Array): Promise<DaemonFrame[]> {
  const stream = await host.sockets.connectUnix(paths.daemonSocket);
  const writer = stream.writable.getWriter();
  const data = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  // The daemon may close before it has read everything; some tests cover exactly this.
  const sent = writer.write(data).catch(() => {});
  let text = "";
  const decoder = new TextDecoder();
  try {
    for await (const chunk of stream.readable) text += decoder.decode(chunk, { stream: true });
  } catch {
    // A reset after the last frame also counts as the end of the connection.
  }
  await sent;
  stream.close();
  return text.split("\n").filter((line) => line !== "").map((line) => {
    const frame = parseDaemonFrame(line);
    assert.ok(frame !== undefined, `no frame: ${line}`);
    return frame;
  });
}

function request(argv: readonly string[], more: Record<string, unknown> = {}): string {
  return `${JSON.stringify({ argv, ...more })}\n`;
}

function textOf(frames: readonly DaemonFrame[], type: "out" | "err"): string {
  return frames.map((frame) => frame.type === type ? frame.text : "").join("");
}

/**
 * Resolves when `count` connections are waiting for their request line. One more timer is that of
 * the next look for agents that wait.
 */
async function untilTimers({ clock }: MemoryHost, count: number): Promise<void> {
  while (clock.pending() < count + 1) await new Promise((resolve) => setTimeout(resolve));
}

async function auditRows({ host, paths }: World) {
  const database = await host.databases.open(`${paths.role("daemon")}/audit.sqlite`);
  return database.prepare("SELECT * FROM audit ORDER BY id").all();
}

const echo: FakeProgram = async (call) => {
  await call.input();
  await call.print("done ✓\n");
  await call.warn("note\n");
  return 3;
};

Deno.test("startDaemon() runs a verb and passes its output and exit code on", async () => {
  await withDaemon(echo, async (it) => {
    const frames = await ask(it.host, it.paths, request(["apply"]));
    assert.equal(textOf(frames, "out"), "done ✓\n");
    assert.equal(textOf(frames, "err"), "note\n");
    assert.deepEqual(frames.at(-1), { type: "exit", code: 3 });
  });
});

Deno.test("startDaemon() passes the request over stdin, with only a grant", async () => {
  let input = "";
  const exec: FakeProgram = async (call) => {
    input = await call.input();
  };
  await withDaemon(exec, async ({ host, paths }) => {
    const line = request(["secret", "set", "--value=-", "--", "KEY"], { stdin: "hunter2" });
    await ask(host, paths, line);
    const [call] = host.processes.calls;
    assert.deepEqual(call?.args, []);
    assert.equal(call?.cwd, "/");
    assert.deepEqual(Object.keys(call?.env ?? {}).sort(), ["FLEETCTL_ROOT", "LC_ALL", "PATH"]);
    const envelope = parseEnvelope(input);
    assert.ok(envelope.ok);
    assert.equal(envelope.value.request.stdin, "hunter2");
    assert.equal(envelope.value.caller.kind, "operator");
    const { grant } = envelope.value;
    assert.ok((await checkGrant(KEY, envelope.value, grant, host.clock.now())).ok);
  });
});

Deno.test("startDaemon() writes every decision to the audit log, and no value", async () => {
  await withDaemon(echo, async (it) => {
    await ask(
      it.host,
      it.paths,
      request(["secret", "set", "--value=-", "--", "K"], {
        stdin: "hunter2",
      }),
    );
    await ask(it.host, it.paths, request(["apply"], { as: "ada" }));
    await ask(it.host, it.paths, "nonsense\n");
    const rows = await auditRows(it);
    assert.deepEqual(
      rows.map((row) => [row.verb, row.words, row.allowed, row.code, row.exit]),
      [
        ["secret set", "K --value", 1, "", "3"],
        ["apply", "", 0, "operator-only", null],
        ["", "", 0, "request-invalid", null],
      ],
    );
    assert.equal(rows[1]?.caller, `agent:ada:${Deno.uid()}`);
    assert.doesNotMatch(JSON.stringify([rows, it.host.log]), /hunter2/);
  });
});

const LATER = VERBS.filter((verb) => verb.later);
const big = "x".repeat(DAEMON_LIMITS.requestBytesMax);
const HOSTILE: readonly [name: string, bytes: string | Uint8Array, code: string][] = [
  ["a leading option", request(["--help"]), "request-invalid"],
  ["a NUL", '{"argv":["apply","\\u0000"]}\n', "request-invalid"],
  ["a newline in an argument", '{"argv":["mcp","add\\n","x"]}\n', "request-invalid"],
  ["dots for a name", request(["mcp", "add", "git", "../../root"]), "name-invalid"],
  ["dots for an agent", request(["apply"], { as: "../ada" }), "name-invalid"],
  ["an argument too many", request(["apply", "self", "--", "x"]), "usage"],
  ["10,000 items", request(Array(10_000).fill("x")), "request-invalid"],
  ["1 MB in one argument", request(["mcp", big.slice(100)]), "request-invalid"],
  ["more than 1 MiB", request(["mcp", big]), "request-invalid"],
  ["1 MiB without end", new TextEncoder().encode(big + big), "request-invalid"],
  ["bytes that are not UTF-8", new Uint8Array([0x7b, 0xff, 0x7d, 10]), "request-invalid"],
  ["an unknown verb", request(["rm", "-rf", "/"]), "verb-unknown"],
  ...LATER.slice(0, 1).map((verb): [string, string, string] => [
    "a verb that is not built",
    request([...verb.path, ...verb.args.map(() => "x")]),
    "verb-not-available",
  ]),
  ["a verb that needs no root", request(["completion", "bash"]), "not-for-daemon"],
  ["help", request(["apply", "--help"]), "not-for-daemon"],
  ["--as inside argv", request(["apply", "--as=ada"]), "not-for-daemon"],
  ["an unknown agent", request(["apply", "self"], { as: "nobody" }), "agent-unknown"],
];

for (const [name, bytes, code] of HOSTILE) {
  Deno.test(`startDaemon() refuses ${name} with ${code}, and runs nothing`, async () => {
    await withDaemon(echo, async ({ host, paths }) => {
      const frames = await ask(host, paths, bytes);
      assert.equal(frames.length, 1);
      assert.ok(frames[0]?.type === "refused", JSON.stringify(frames));
      assert.equal(frames[0].error.code, code);
      assert.equal(host.processes.calls.length, 0);
    });
  });
}

Deno.test("startDaemon() gives up on a client that does not finish its line", async () => {
  await withDaemon(echo, async ({ host, paths }) => {
    const asked = ask(host, paths, '{"argv":');
    await untilTimers(host, 1);
    host.clock.advance(DAEMON_LIMITS.requestSeconds * 1000);
    const [frame] = await asked;
    assert.ok(frame?.type === "refused");
    assert.match(frame.error.message, /did not arrive within 5 seconds/);
  });
});

Deno.test("startDaemon() accepts a bounded number of connections of one uid", async () => {
  await withDaemon(echo, async ({ host, paths }) => {
    const idle = await Promise.all(
      Array.from(
        { length: connectionsMaxOf(Deno.uid() ?? 0) },
        () => host.sockets.connectUnix(paths.daemonSocket),
      ),
    );
    await untilTimers(host, connectionsMaxOf(Deno.uid() ?? 0));
    const [frame] = await ask(host, paths, request(["apply"]));
    assert.ok(frame?.type === "refused");
    assert.equal(frame.error.code, "daemon-busy");
    for (const stream of idle) stream.close();
  });
});

Deno.test("startDaemon() lets a uid's fifth verb wait, drops one without a client", async () => {
  const goOn = Promise.withResolvers<void>();
  const exec: FakeProgram = async (call) => {
    await call.input();
    await goOn.promise;
    await call.print("done\n");
  };
  await withDaemon(exec, async (it) => {
    const { host, paths } = it;
    const running = Array.from(
      { length: DAEMON_LIMITS.verbsPerUidMax },
      () => ask(host, paths, request(["apply"])),
    );
    while (host.processes.calls.length < DAEMON_LIMITS.verbsPerUidMax) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    const gone = await host.sockets.connectUnix(paths.daemonSocket);
    await gone.writable.getWriter().write(new TextEncoder().encode(request(["apply"])));
    for await (const chunk of gone.readable) {
      assert.match(
        new TextDecoder().decode(chunk),
        /"err","text":"waiting: uid \d+ already runs 4 verbs/,
      );
      break;
    }
    gone.close();
    const fifth = ask(host, paths, request(["apply"]));
    while ((await auditRows(it)).length < DAEMON_LIMITS.verbsPerUidMax + 2) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    goOn.resolve();
    for (const frames of await Promise.all([...running, fifth])) {
      assert.deepEqual(frames.at(-1), { type: "exit", code: 0 });
    }
    assert.equal(host.processes.calls.length, DAEMON_LIMITS.verbsPerUidMax + 1);
    const exits = (await auditRows(it)).map((row) => row.exit);
    assert.deepEqual(exits.filter((exit) => exit !== "0"), ["client-gone"]);
  });
});

Deno.test("startDaemon() finishes a change after its client disconnected", async () => {
  const started = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  const exec: FakeProgram = async (call) => {
    await call.input();
    started.resolve();
    await goOn.promise;
    await call.print("half\n");
    await call.print("whole\n");
    ended.resolve(call.killed.aborted ? "killed" : "finished");
  };
  await withDaemon(exec, async (it) => {
    const stream = await it.host.sockets.connectUnix(it.paths.daemonSocket);
    const writer = stream.writable.getWriter();
    await writer.write(new TextEncoder().encode(request(["apply"])));
    await started.promise;
    stream.close();
    goOn.resolve();
    assert.equal(await ended.promise, "finished");
  });
});

Deno.test("startDaemon() ends a read-only verb when its client disconnected", async () => {
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  const exec: FakeProgram = async (call) => {
    await call.input();
    await call.print("the last line so far\n");
    started.resolve();
    call.killed.addEventListener("abort", () => ended.resolve(call.killed.reason));
    await ended.promise;
  };
  await withDaemon(exec, async (it) => {
    const stream = await it.host.sockets.connectUnix(it.paths.daemonSocket);
    const writer = stream.writable.getWriter();
    await writer.write(new TextEncoder().encode(request(["logs", "--follow", "--", "daemon"])));
    await started.promise;
    let isEnded = false;
    void ended.promise.then(() => isEnded = true);
    await untilTimers(it.host, 1);
    await it.host.clock.advance(10 * DAEMON_LIMITS.probeSeconds * 1000);
    assert.equal(isEnded, false, "it continues while a client waits");
    stream.close();
    while (!isEnded) {
      await new Promise((resolve) => setTimeout(resolve));
      await it.host.clock.advance(DAEMON_LIMITS.probeSeconds * 1000);
    }
    assert.equal(await ended.promise, "SIGTERM");
  });
});

Deno.test("startDaemon() serves a client that has only closed its writing side", async () => {
  const goOn = Promise.withResolvers<void>();
  const exec: FakeProgram = async (call) => {
    await call.input();
    await goOn.promise;
    await call.print("late\n");
  };
  await withDaemon(exec, async (it) => {
    const stream = await it.host.sockets.connectUnix(it.paths.daemonSocket);
    const writer = stream.writable.getWriter();
    await writer.write(new TextEncoder().encode(request(["logs", "--", "daemon"])));
    await writer.close();
    await untilTimers(it.host, 1);
    await it.host.clock.advance(3 * DAEMON_LIMITS.probeSeconds * 1000);
    goOn.resolve();
    const answer = await new Response(stream.readable as ReadableStream<Uint8Array<ArrayBuffer>>)
      .text();
    assert.match(answer, /late/);
    assert.match(answer, /"exit","code":0/);
  });
});

Deno.test("startDaemon() passes the input of a verb that serves its client", async () => {
  const serve: FakeProgram = async (call) => {
    for await (const chunk of call.stdin) await call.print(new TextDecoder().decode(chunk));
    return 5;
  };
  await withDaemon(serve, async ({ host, paths }) => {
    const stream = await host.sockets.connectUnix(paths.daemonSocket);
    const writer = stream.writable.getWriter();
    const say = (text: string) => writer.write(new TextEncoder().encode(text));
    // The first words arrive with the request line, the others while the verb runs.
    await say(`${request(["acp", "ada"])}one`);
    let answer = "";
    for await (const line of readLines(stream.readable, { lineBytesMax: 1e6 })) {
      const frame = parseDaemonFrame(line);
      assert.ok(frame !== undefined);
      if (frame.type === "exit") {
        assert.equal(frame.code, 5);
        break;
      }
      assert.ok(frame.type === "out", line);
      answer += frame.text;
      if (frame.text.endsWith("one")) await say("two");
      if (frame.text.endsWith("two")) await writer.close();
    }
    assert.match(answer, /^\{.*"grant".*\}\nonetwo$/);
    stream.close();
  });
});

Deno.test("startDaemon() ends the input of a verb whose client is gone", async () => {
  const ended = Promise.withResolvers<string>();
  const serve: FakeProgram = async (call) => ended.resolve(await call.input());
  await withDaemon(serve, async ({ host, paths }) => {
    const stream = await host.sockets.connectUnix(paths.daemonSocket);
    await stream.writable.getWriter().write(
      new TextEncoder().encode(`${request(["acp", "ada"])}one`),
    );
    stream.close();
    assert.match(await ended.promise, /\none$/);
  });
});

Deno.test("startDaemon() ends a connection whose verb ended before its client", async () => {
  const refuse: FakeProgram = async (call) => {
    const reader = call.stdin.getReader();
    await reader.read();
    reader.releaseLock();
    return 4;
  };
  await withDaemon(refuse, async ({ host, paths }) => {
    const frames = await ask(host, paths, request(["acp", "ada"]));
    assert.deepEqual(frames.at(-1), { type: "exit", code: 4 });
  });
});

Deno.test("startDaemon() passes nothing after the request to other verbs", async () => {
  let input = "";
  const exec: FakeProgram = async (call) => {
    input = await call.input();
  };
  await withDaemon(exec, async ({ host, paths }) => {
    const frames = await ask(host, paths, `${request(["apply"])}more`);
    assert.deepEqual(frames.at(-1), { type: "exit", code: 0 });
    assert.match(input, /^\{.*\}\n$/);
  });
});

Deno.test("startDaemon() finishes a change although its client does not read", async () => {
  const ended = Promise.withResolvers<void>();
  const exec: FakeProgram = async (call) => {
    await call.input();
    for (let part = 0; part < 64; part++) await call.print("x".repeat(64 * 1024));
    ended.resolve();
  };
  await withDaemon(exec, async ({ host, paths }) => {
    const stream = await host.sockets.connectUnix(paths.daemonSocket);
    await stream.writable.getWriter().write(new TextEncoder().encode(request(["apply"])));
    let isDone = false;
    void ended.promise.then(() => isDone = true);
    // Each frame is sent at once until the kernel's buffer is full; then one write blocks and times
    // out.
    while (!isDone) {
      await new Promise((resolve) => setTimeout(resolve));
      if (host.clock.pending() > 0) await host.clock.advance(DAEMON_LIMITS.writeSeconds * 1000);
    }
    await ended.promise;
    stream.close();
  });
});

Deno.test("startDaemon() refuses when the key file is open to others", async () => {
  await withDaemon(echo, async ({ host, paths }) => {
    await host.files.setMeta(paths.hostOpKeys, { mode: 0o644 });
    const [frame] = await ask(host, paths, request(["apply"]));
    assert.ok(frame?.type === "refused");
    assert.equal(frame.error.code, "grant-key-unusable");
    assert.equal(host.processes.calls.length, 0);
  });
});

Deno.test("startDaemon() opens a socket for every user in a separate folder", async () => {
  await withDaemon(echo, async ({ paths }) => {
    assert.equal((await Deno.lstat(paths.daemonSocket)).mode! & 0o777, 0o666);
  });
});

Deno.test({
  name: "startDaemon() recognizes another user's uid",
  ignore: Deno.uid() !== 0,
  fn: async () => {
    await withDaemon(echo, async ({ host, paths, root }) => {
      await Deno.chmod(root, 0o755);
      const script = `import socket,sys
s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
s.sendall(b'{"argv":["apply"]}\\n')
data=b""
while True:
    part=s.recv(65536)
    if not part: break
    data+=part
sys.stdout.write(data.decode())`;
      const { stdout, stderr } = await new Deno.Command("setpriv", {
        args: [
          "--reuid=65534",
          "--regid=65534",
          "--clear-groups",
          "python3",
          "-c",
          script,
          paths.daemonSocket,
        ],
        clearEnv: true,
        env: { PATH: "/usr/bin:/bin" },
      }).output();
      const frame = parseDaemonFrame(new TextDecoder().decode(stdout).trim());
      assert.ok(frame?.type === "refused", new TextDecoder().decode(stderr));
      assert.equal(frame.error.code, "caller-unknown");
      assert.equal(host.processes.calls.length, 0);
    });
  },
});
