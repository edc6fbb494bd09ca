/**
 * Where a verb runs: here, through the daemon, or nowhere; its output is the same in each case.
 *
 * @module
 */

import assert from "node:assert/strict";
import { runGranted } from "cli/exec/run_granted.ts";
import { runCli } from "cli/run.ts";
import { splitArguments } from "core/os/argv.ts";
import { openHost } from "core/os/host.ts";
import { denoTrees } from "core/os/vendor.ts";
import { pathsUnder } from "core/paths.ts";
import { err, ok } from "core/result.ts";
import { refusal } from "core/errors.ts";
import { NO_TERMINAL } from "core/verbs/daemon_frames.ts";
import { startDaemon } from "units/daemon/daemon.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";
import { noServices } from "tests/support/no_services.ts";
import { runFleetctl, SCRIPT_HOST } from "tests/support/script.ts";
import { memoryCli } from "tests/support/memory_cli.ts";

const BROWSER = `name: browser
summary: Stands in
source:
  builtin: agent-message
auth: none
scope: per_user
`;

/** A root with one agent, made without a daemon. */
async function newRoot(): Promise<string> {
  const root = await Deno.makeTempDir({ prefix: "fctl" });
  const folder = `${root}/var/lib/fleetctl/repo/catalog/browser`;
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/mcp.yaml`, BROWSER);
  const made = await runFleetctl(["agents", "add", "ada", "--channel", "webview"], { root });
  assert.equal(made.code, 0, made.stderr);
  return root;
}

/** A daemon whose `fleetctl-exec` is the real one, run in this process. */
async function startRealDaemon(root: string) {
  const paths = pathsUnder(root);
  const host = openHost({ log: { program: "fleetctld", level: "error" } });
  const runs: string[] = [];
  const processes = fakeProcesses({
    [paths.program("fleetctl-exec")]: async (call) => {
      const input = await call.input();
      runs.push(input);
      return await runGranted({
        version: "0.0.0",
        env: { ...call.env },
        cwd: call.cwd ?? "/",
        terminal: NO_TERMINAL,
        tokenize: splitArguments,
        takeOverStop: () => new AbortController().signal,
        openPorts: async () => ({
          ...host,
          trees: denoTrees(),
          openMcpClient: () => Promise.reject(new Error("not here")),
          hostname: SCRIPT_HOST,
          memoryBytes: () => undefined,
          services: noServices,
          startManager: async () => err(refusal("none", "none")),
        }),
        out: call.print,
        err: call.warn,
        readStdin: async () => ok(input),
        openStdin: () => new Blob([input]).stream(),
        promptSecret: async () => undefined,
        promptLine: async () => undefined,
      });
    },
  });
  const daemon = await startDaemon({
    host: { ...host, processes },
    paths,
    tokenize: splitArguments,
  });
  return { daemon, runs };
}

const VERBS: readonly (readonly string[])[] = [
  ["secret", "set", "KEY", "--value", "hunter2"],
  ["secret", "set", "KEY", "--value", "hunter2", "--json"],
  ["secret", "set", "WEBVIEW_ASSERTION_KEY", "--value", "x"],
  ["--as", "ada", "secret", "set", "KEY", "--value", "hunter2"],
  ["--as", "ada", "secret", "set", "KEY", "--value", "x", "--agent", "self"],
  ["mcp", "add", "agent-message", "ada"],
  ["mcp", "add", "nosuch", "ada"],
  ["mcp", "add", "nosuch", "ada", "--json"],
  ["--as", "ada", "mcp", "add", "agent-message", "bea"],
  ["mcp", "remove", "agent-message", "ada", "--dry-run"],
  ["agents", "add", "bea", "--channel", "webview"],
  ["agents", "add", "bea"],
  ["apply"],
  ["apply", "self"],
];

Deno.test("runCli() prints the same through the daemon as without it", async () => {
  const alone = await newRoot();
  const served = await newRoot();
  const { daemon, runs } = await startRealDaemon(served);
  try {
    for (const argv of VERBS) {
      const env = { FLEETCTL_FROM_TREE: "/src" };
      const here = await runFleetctl(argv, { root: alone, env });
      const there = await runFleetctl(argv, { root: served, env });
      const same = (text: string) => text.replaceAll(alone, "ROOT").replaceAll(served, "ROOT");
      assert.deepEqual(
        { ...there, stdout: same(there.stdout), stderr: same(there.stderr) },
        { ...here, stdout: same(here.stdout), stderr: same(here.stderr) },
        argv.join(" "),
      );
    }
    assert.ok(runs.length > 5, "verbs that change something go through the daemon");
  } finally {
    await daemon.close();
    await Deno.remove(alone, { recursive: true });
    await Deno.remove(served, { recursive: true });
  }
});

Deno.test("runCli() reads without the daemon, so that status works without it", async () => {
  const root = await newRoot();
  const { daemon, runs } = await startRealDaemon(root);
  try {
    for (const argv of [["agents", "list"], ["mcp", "wired", "ada"]]) {
      assert.equal((await runFleetctl(argv, { root })).code, 0, argv.join(" "));
    }
    // No part is running there, which the exit code of `status` reports.
    assert.equal((await runFleetctl(["status"], { root })).code, 1);
    assert.equal(runs.length, 0);
  } finally {
    await daemon.close();
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("runCli() runs the verb itself when the daemon's socket does not answer", async () => {
  const root = await newRoot();
  const { daemon } = await startRealDaemon(root);
  await daemon.close();
  await Deno.mkdir(`${root}/run/fleetctl`, { recursive: true });
  await Deno.writeTextFile(`${root}/run/fleetctl/fleetctl.sock`, "");
  try {
    const output = await runFleetctl(["secret", "set", "KEY", "--value", "x"], { root });
    assert.equal(output.code, 0, output.stderr);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("runCli() refuses a role's key with which the role would not start", async () => {
  const root = await newRoot();
  try {
    const argv = ["secret", "set", "WEBVIEW_ASSERTION_KEY", "--value", "x"];
    const output = await runFleetctl(argv, { root });
    assert.equal(output.code, 1);
    assert.match(output.stderr, /Cannot .*WEBVIEW_ASSERTION_KEY.*shorter than 16 characters/);
    assert.match(output.stderr, /hint: head -c 32 .* fleetctl secret set WEBVIEW_ASSERTION_KEY/);
    const good = [...argv.slice(0, -1), "0123456789abcdef0123456789abcdef"];
    assert.equal((await runFleetctl(good, { root })).code, 0);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

/** A real host seen by an ordinary user, without a daemon. */
async function asUser(argv: readonly string[]) {
  const ada = { name: "ada", uid: 1002, gid: 1002, home: "/home/ada" };
  const host = memoryHost({ users: { currentUid: 1002, users: [ada] } });
  const connectUnix = () => Promise.reject(new Deno.errors.NotFound());
  const sockets = { ...host.sockets, connectUnix };
  const { deps, output } = memoryCli(host, { ports: { sockets, trees: denoTrees() } });
  await host.files.ensureDir("/var/lib/fleetctl/repo/agents.d");
  await host.files.write(
    "/var/lib/fleetctl/repo/agents.d/ada.yaml",
    "name: ada\nchannel: webview\nruntime: runtime-b\n",
  );
  const code = await runCli(argv, deps);
  return { code, ...output };
}

const USER: readonly [argv: string, code: number, says: RegExp][] = [
  ["mcp add git self", 1, /no daemon answers on "\/run\/fleetctl\/fleetctl.sock"/],
  ["status", 1, /hint: systemctl restart fleetctl-daemon.service/],
  ["agents add eve --channel webview", 1, /no daemon answers on/],
  ["mcp read git git_log", 1, /its socket is missing/],
  ["mcp read git git_log bea", 1, /no daemon answers on/],
  ["mcp catalog list", 0, /^$/],
  ["--as bea status", 1, /no daemon answers on/],
];

for (const [argv, code, says] of USER) {
  Deno.test(`runCli() answers an agent without a daemon: "${argv}" with ${code}`, async () => {
    const output = await asUser(argv.split(" "));
    assert.match(output.err, says);
    assert.equal(output.code, code);
  });
}

Deno.test("runCli() reports a fault of the machine as one refusal", async () => {
  const root = await Deno.makeTempDir({ prefix: "fctl" });
  try {
    const output = await runFleetctl(["status"], {
      root,
      ports: {
        services: () => {
          throw new TypeError("oops");
        },
      },
    });
    // The facts of an empty root are unreadable before the manager is asked.
    assert.equal(output.code, 1);
    assert.match(output.stdout, /^! Cannot /m);
    const list = await runFleetctl(["agents", "list"], {
      root,
      ports: {
        services: () => {
          throw new TypeError("oops");
        },
      },
    });
    assert.equal(list.code, 1);
    assert.equal(list.stderr, 'fleetctl: Cannot run "agents list": oops\n');
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
