/**
 * The rendered socket and service of an MCP under real systemd. Clients that connect and are killed
 * leave nothing behind, an idle server stops, and the limits on tasks and memory apply. 48 clients
 * by default; FLEETCTL_ROUNDS overrides it. The engine is a fast stand-in; the units are the
 * product's.
 *
 * @module
 */

import assert from "node:assert/strict";
import { connectUnix } from "core/os/connect_unix.ts";
import { systemClock } from "core/os/clock.ts";
import { denoTrees } from "core/os/vendor.ts";
import { sandboxRoot } from "core/catalog/vendor.ts";
import { parseManifest } from "core/catalog/parse_manifest.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import type { AgentName, McpName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { ok } from "core/result.ts";
import { printUnit } from "core/text/unit_file.ts";
import { wireOf } from "units/mcp/wire.ts";
import { connectWire } from "units/mcp/os/wires.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { type BootedHost, bootHost, poll } from "tests/support/booted_host.ts";
import { type HostStep, hostSteps } from "tests/support/host_steps.ts";
import { renderLaunchers } from "units/render/launchers.ts";
import { runProxy } from "units/mcp/proxy.ts";
import { renderMcpService } from "units/render/mcp/service.ts";
import { renderMcpSocket } from "units/render/mcp/socket.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 48);
/** Concurrent clients. */
const WIDE = 8;
const AGENT = "ada" as AgentName;
const MEMORY_MIB = 96;
const TASKS = 24;
const PATHS = pathsUnder("/");
const TREE = `${PATHS.deploy("limits")}/1.0.0-test`;

/**
 * An echo server with a child process. On request it uses tasks or memory until it is stopped, and
 * counts them.
 */
const SERVER = `import json, os, subprocess, sys
line = sys.argv[1]
if line == "tasks":
    children = [os.getpid()]
    while len(children) < 500:
        try:
            pid = os.fork()
        except OSError as refused:
            print("refused", refused.errno, len(children), flush=True)
            break
        if pid == 0:
            while True:
                os.read(0, 1)
        children.append(pid)
    sys.exit(0)
if line == "memory":
    held = []
    while len(held) < 1024:
        held.append(os.urandom(1 << 20))
        print(len(held), flush=True)
    sys.exit(0)
while line != "":
    asked = json.loads(line)
    if asked.get("method") == "tools/call":
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"content": []}}
        print(json.dumps(answer), flush=True)
    line = sys.stdin.readline().strip()
`;

/** A stand-in for Node that starts at once. Its child outlives it unless it is killed. */
const ENGINE = `#!/bin/sh
sleep 1000 &
printf 'up\\n'
IFS= read -r first || exit 0
case "$first" in
  echo) exec cat ;;
  *) exec /usr/bin/python3 "$2" "$first" ;;
esac
`;

function manifest(): Manifest {
  const text = `name: limits
summary: A server that takes what it gets
source: {npm: "limits@1.0.0"}
integrity: {package: sha512-${"A".repeat(86)}==, lock: sha256-${"A".repeat(43)}=}
command: node_modules/limits/server.py
engine: node
engine_reason: a stand-in that starts fast
auth: none
scope: per_user
limits: {memory_mib: ${MEMORY_MIB}, tasks: ${TASKS}, idle_stop_seconds: 60}
`;
  const lock = '{"version":"5"}';
  const parsed = parseManifest(text, {
    name: "limits",
    file: "limits/mcp.yaml",
    origin: "overlay",
    lock,
  });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed.value;
}

async function put(path: string, text: string, mode = 0o644): Promise<void> {
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(path, text);
  await Deno.chmod(path, mode);
}

/** Installs the units, the launchers, the tree and its record on a host, and starts the sockets. */
async function install(host: BootedHost): Promise<void> {
  const at = (path: string) => `${host.root}${path}`;
  const entry = manifest();
  await host.must("useradd", "--create-home", AGENT);
  const shape = { kind: "bundle", dir: "/usr/lib/fleetctl", denoDir: "/var/cache/x" } as const;
  for (const file of renderLaunchers(shape, PATHS)) {
    await put(at(file.path), file.content, file.mode);
  }
  await put(at("/usr/local/bin/node"), ENGINE, 0o755);
  await put(at(`${TREE}/node_modules/limits/server.py`), SERVER);
  await Deno.symlink("1.0.0-test", at(`${PATHS.deploy("limits")}/current`));
  const record = { mcp: "limits", fingerprint: await denoTrees().fingerprint(at(TREE)) };
  await put(at(`${TREE}.json`), `${JSON.stringify(record, null, 2)}\n`);
  await put(at(PATHS.gate("limits")), "{}\n");
  // The empty folder in which the manager builds the server's view of the file system.
  await Deno.mkdir(at(sandboxRoot(PATHS.deploy("limits"))));
  await put(at(PATHS.agentEnv(AGENT)), "");
  const place = { paths: PATHS, agent: AGENT, workdir: "/", closed: [] };
  for (const unit of [renderMcpSocket(entry, AGENT, PATHS), renderMcpService(entry, place)]) {
    await put(at(`${PATHS.units}/${unit.name}`), printUnit(unit));
  }
  await host.must("mkdir", "-p", `/home/${AGENT}/.cache/fleetctl/mcp-limits`);
  await host.must("chown", "-R", `${AGENT}:`, `/home/${AGENT}`);
  await host.must("systemctl", "daemon-reload");
  await host.must("systemctl", "start", `mcp-limits-${AGENT}.socket`);
}

function socketOf(host: BootedHost): string {
  return host.path(PATHS.agentMcpSocket("limits", AGENT));
}

/** Returns instances in any state, and processes of the agent. */
async function leftovers(host: BootedHost): Promise<readonly string[]> {
  const list = ["systemctl", "list-units", "--all", "--plain", "--no-legend", "mcp-limits-*@*"];
  const units = (await host.must(...list)).trim();
  const { out } = await host.exec(["ps", "-u", AGENT, "-o", "pid=,args="]);
  return [units, out.trim()].filter((text) => text !== "");
}

async function waitForNone(host: BootedHost): Promise<void> {
  await poll(
    "host without a server",
    async () => (await leftovers(host)).length === 0 ? true : undefined,
  );
}

async function descriptors(host: BootedHost): Promise<number> {
  return (await host.must("ls", "/proc/1/fd")).trim().split("\n").length;
}

const encoder = new TextEncoder();
const write = async (conn: Deno.Conn, text: string) => {
  await conn.write(encoder.encode(text));
};

/** Reads until the text ends with `end`, or the server closes the connection. */
async function readTo(conn: Deno.Conn, end: string | undefined): Promise<string> {
  const buffer = new Uint8Array(4096);
  let text = "";
  while (end === undefined || !text.endsWith(end)) {
    const count = await conn.read(buffer).catch(() => null);
    if (count === null) break;
    text += new TextDecoder().decode(buffer.subarray(0, count));
  }
  return text;
}

/**
 * One client that disconnects: before its first message, after it, in mid-message, or at the end.
 */
async function visit(host: BootedHost, how: number): Promise<void> {
  const conn = await Deno.connect({ transport: "unix", path: socketOf(host) });
  try {
    if (how === 0) return;
    assert.equal(await readTo(conn, "up\n"), "up\n");
    if (how === 1) return;
    await write(conn, how === 2 ? "half a mess" : "echo\nwhole\n");
    if (how === 3) assert.equal(await readTo(conn, "whole\n"), "whole\n");
  } finally {
    conn.close();
  }
}

async function comeAndGo(host: BootedHost): Promise<void> {
  await Promise.all(Array.from({ length: WIDE }, (_, at) => visit(host, at % 4)));
  await waitForNone(host);
  const before = await descriptors(host);
  for (let round = 0; round < ROUNDS; round += WIDE) {
    await Promise.all(Array.from({ length: WIDE }, (_, at) => visit(host, (round + at) % 4)));
    // Clients of the previous round may still be ending; the socket would refuse more than its
    // limit.
    if (round % (WIDE * 4) === 0) await waitForNone(host);
  }
  await waitForNone(host);
  assert.deepEqual(await leftovers(host), []);
  assert.ok(await descriptors(host) <= before + WIDE, "descriptors of PID 1 grew");
  const failed = await host.must("systemctl", "--failed", "--plain", "--no-legend");
  assert.equal(failed.includes("mcp-limits"), false, failed);
}

/** The proxy with the real clock in front of the real socket. */
async function idleStop(host: BootedHost): Promise<void> {
  const toProxy = new TransformStream<Uint8Array, Uint8Array>();
  const fromProxy = new TransformStream<Uint8Array, Uint8Array>();
  const log = recordingLog();
  const gate = {
    mcp: "limits" as McpName,
    version: "1.0.0",
    rules: new Map(),
    reads: new Set<string>(),
    idleStopSeconds: 1,
  };
  const done = runProxy({ agent: AGENT, mcp: "limits", socket: socketOf(host) }, {
    client: wireOf({ readable: toProxy.readable, writable: fromProxy.writable }),
    openServer: connectWire,
    clock: systemClock(),
    log,
    connect: connectUnix,
    dialSocket: "/nowhere",
    gate: { current: () => Promise.resolve(ok(gate)) },
  });
  const client = toProxy.writable.getWriter();
  const answers = fromProxy.readable.getReader();
  const call = { jsonrpc: "2.0", method: "tools/call", params: { name: "look" } };
  for (const id of [1, 2]) {
    await client.write(encoder.encode(`${JSON.stringify({ ...call, id })}\n`));
    const { value } = await answers.read();
    assert.match(new TextDecoder().decode(value), new RegExp(`"id": ?${id}`));
    assert.notDeepEqual(await leftovers(host), [], "a server runs");
    // The client stays connected: the proxy releases the server.
    await waitForNone(host);
    assert.equal(log.of("idle_stop").length, id);
  }
  await client.close();
  await done;
}

async function taskLimit(host: BootedHost): Promise<void> {
  const conn = await Deno.connect({ transport: "unix", path: socketOf(host) });
  await write(conn, "tasks\n");
  const output = await readTo(conn, undefined);
  conn.close();
  const [, errno, count] = /refused (\d+) (\d+)/.exec(output) ?? [];
  assert.equal(errno, "11", `EAGAIN after some children, not: ${output}`);
  assert.ok(Number(count) < TASKS, output);
  await waitForNone(host);
}

async function memoryLimit(host: BootedHost): Promise<void> {
  const conn = await Deno.connect({ transport: "unix", path: socketOf(host) });
  await write(conn, "memory\n");
  const taken = (await readTo(conn, undefined)).trim().split("\n").map(Number)
    .filter((count) => count > 0);
  conn.close();
  assert.ok(taken.length > 0 && Math.max(...taken) <= MEMORY_MIB, String(taken.at(-1)));
  await waitForNone(host);
  const again = await Deno.connect({ transport: "unix", path: socketOf(host) });
  assert.equal(await readTo(again, "up\n"), "up\n", "the next connection has a server");
  again.close();
  await waitForNone(host);
}

Deno.test("the units of an MCP leave nothing behind", async (t) => {
  await onHost(t, "addresses", async (host, step) => {
    await step(`no server remains after ${ROUNDS} clients`, () => comeAndGo(host));
    await step("an idle server stops, and the next call starts another one", () => idleStop(host));
  });
});

Deno.test("the units of an MCP hold its limits on tasks and memory", async (t) => {
  await onHost(t, "controllers", async (host, step) => {
    await step("at most as many tasks as the manifest allows", () => taskLimit(host));
    await step("at most as much memory as the manifest allows", () => memoryLimit(host));
  });
});

async function onHost(
  t: Deno.TestContext,
  enforces: "addresses" | "controllers",
  work: (host: BootedHost, step: HostStep) => Promise<void>,
): Promise<void> {
  const host = await bootHost({ enforces });
  try {
    const step = hostSteps(t, [host]);
    await step("the product's units and a stand-in engine", () => install(host));
    await work(host, step);
  } finally {
    await host.stop();
  }
}
