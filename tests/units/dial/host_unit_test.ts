/**
 * A host's own unit against a real gateway on loopback and a daemon behind a real unix socket. The
 * gateway admits it with an enrolled key only. It runs the jobs of the closed list and no others.
 * An admin's request at the cockpit gets its result, or a report of what happened.
 *
 * @module
 */

import assert from "node:assert/strict";
import { HOST_JOBS, jobArguments } from "core/dial/host_job.ts";
import { type DialKey, generateDialKey } from "core/dial/proof.ts";
import type { HostName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { VERBS } from "core/verbs/table.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";
import {
  connectBare,
  proveKey,
  startTestGateway,
  type TestGateway,
} from "tests/support/gateway_fixture.ts";
import { type HostUnit, startHostUnit } from "units/dial/host_unit.ts";

const KEYS_FILE = pathsUnder("/r").dialKeys;
const ADMIN = { "x-user-email": "ada@example.org", "content-type": "application/json" };

const AWAY = { is_online: false, version: null, since: null, is_revoked: false, jobs: [] };

/** Stands in for the daemon: answers one request with lines, or leaves it open. */
type FakeDaemon = (argv: readonly string[]) => readonly object[] | "silence";

interface Scene {
  readonly running: TestGateway;
  readonly own: MemoryHost;
  readonly key: DialKey;
  readonly asked: string[][];
  unit(): Promise<HostUnit>;
  ask(method: "GET" | "POST", path: string, body?: unknown): Promise<Response>;
}

async function settle(until: () => boolean | Promise<boolean>): Promise<void> {
  while (!await until()) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function withScene(daemon: FakeDaemon, use: (scene: Scene) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "fctl" });
  const own = memoryHost();
  const paths = pathsUnder(root);
  await Deno.mkdir(paths.run, { recursive: true });
  const asked: string[][] = [];
  const listener = await own.sockets.serveUnix(paths.daemonSocket, 0o600, async (stream) => {
    const reader = stream.readable.getReader();
    const { value } = await reader.read();
    const { argv } = JSON.parse(new TextDecoder().decode(value));
    asked.push(argv);
    const answer = daemon(argv);
    if (answer === "silence") return;
    const text = answer.map((frame) => `${JSON.stringify(frame)}\n`).join("");
    await stream.writable.getWriter().write(new TextEncoder().encode(text));
    stream.close();
  });
  const { key } = await generateDialKey();
  const gatewayHost = memoryHost();
  await enroll(gatewayHost, { "host:boreas": [key.publicKey], "host:zephyr": [] });
  const running = await startTestGateway({ host: gatewayHost });
  const units: HostUnit[] = [];
  try {
    await use({
      running,
      own,
      key,
      asked,
      unit: async () => {
        const unit = startHostUnit(
          {
            paths,
            hostname: "boreas" as HostName,
            gatewayUrl: new URL(running.dialUrl),
            credentials: "/",
          },
          own,
          { key, version: "9.9.9" },
        );
        units.push(unit);
        await settle(() => unit.isConnected());
        return unit;
      },
      ask: (method, path, body) =>
        fetch(`${running.cockpitUrl}${path}`, {
          method,
          headers: { ...ADMIN, "idempotency-key": crypto.randomUUID() },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
    });
  } finally {
    await Promise.all(units.map((unit) => unit.close()));
    await running[Symbol.asyncDispose]();
    await listener.close();
    await Deno.remove(root, { recursive: true });
  }
}

async function enroll(host: MemoryHost, keys: Readonly<Record<string, readonly string[]>>) {
  await host.files.ensureDir(KEYS_FILE.slice(0, KEYS_FILE.lastIndexOf("/")));
  await host.files.write(KEYS_FILE, JSON.stringify(keys));
}

const done = (report: unknown, code = 0): FakeDaemon => () => [
  { type: "out", text: "" },
  { type: "out", text: JSON.stringify(report) },
  { type: "exit", code },
];

Deno.test("every job is one verb that a host's unit may run, and nothing else is a job", () => {
  for (const job of HOST_JOBS) {
    const words = jobArguments({ job, agent: "ada" }) ?? [];
    const verb = VERBS.find(({ path }) => path.every((word, at) => words[at] === word));
    assert.equal(verb?.isHostJob, true, job);
  }
  assert.equal(VERBS.filter(({ isHostJob }) => isHostJob).length, HOST_JOBS.length);
  assert.equal(jobArguments({ job: "secret get" }), undefined);
  assert.equal(jobArguments({ job: "restart" }), undefined);
  assert.deepEqual(jobArguments({ job: "restart", agent: "--help" })?.slice(-2), ["--", "--help"]);
});

Deno.test("a host registers with its key, is listed, and answers an admin", async () => {
  await withScene(done({ ok: true }), async (scene) => {
    const before = await (await scene.ask("GET", "/api/hosts")).json();
    assert.deepEqual(before.hosts, [
      { ...AWAY, host: "boreas" },
      { ...AWAY, host: "zephyr", is_revoked: true },
    ]);
    const offline = await scene.ask("GET", "/api/host/status?host=boreas");
    assert.equal(offline.status, 503);
    assert.equal((await offline.json()).code, "host-offline");

    await scene.unit();
    const [boreas] = (await (await scene.ask("GET", "/api/hosts")).json()).hosts;
    assert.equal(boreas.is_online, true);
    assert.equal(boreas.version, "9.9.9");
    const status = await scene.ask("GET", "/api/host/status?host=boreas");
    assert.deepEqual(await status.json(), { exit: 0, report: { ok: true } });
    const applied = await scene.ask("POST", "/api/apply-all", {});
    assert.deepEqual(
      (await applied.json()).hosts.map((
        one: Record<string, unknown>,
      ) => [one.host, one.ok, one.code]),
      [["boreas", true, undefined], ["zephyr", false, "host-offline"]],
    );
    assert.deepEqual(scene.asked, [["status", "--json"], ["apply", "--json", "--steps"]]);
    const agents = await (await scene.ask("GET", "/api/agents")).json();
    assert.doesNotMatch(JSON.stringify(agents), /boreas/);
    assert.match(JSON.stringify(scene.own.log), /"by":"ada@example.org"/);
  });
});

Deno.test("watchers get the output of a running verb, but not its report", async () => {
  const steps: FakeDaemon = () => [
    { type: "err", text: "[1/2] vendor git\n" },
    { type: "err", text: `[2/2] start ${"x".repeat(400)}\n\n` },
    { type: "err", text: "\n" },
    { type: "out", text: '{"files":[]}' },
    { type: "exit", code: 0 },
  ];
  await withScene(steps, async (scene) => {
    await scene.unit();
    const { lines } = scene.running.host.log;
    const body = { host: "boreas", job: "apply" };
    const watched = await fetch(`${scene.running.cockpitUrl}/events?topics=hosts`, {
      headers: ADMIN,
    });
    const source = watched.body?.pipeThrough(new TextDecoderStream()).getReader();
    assert.ok(source);
    assert.equal((await scene.ask("POST", "/api/host/jobs", body)).status, 202);
    let text = "";
    while (!text.includes('"exit":0')) text += (await source.read()).value ?? "";
    const progress = [...text.matchAll(/"progress":"([^"]+)"/g)].map(([, line = ""]) => line);
    await source.cancel();
    assert.ok(progress.every((line) => line.length <= 200), progress.join("\n"));
    assert.equal(lines.filter(({ event }) => event === "frame of a host dropped").length, 0);
    const { jobs } = await (await scene.ask("GET", "/api/host/jobs?host=boreas")).json();
    assert.deepEqual(jobs[0].report, { files: [] });
  });
});

Deno.test("an agent is restarted on the host that it is connected from", async () => {
  await withScene(done({ restarted: true }), async (scene) => {
    await scene.unit();
    const absent = await scene.ask("POST", "/api/agents/restart", { agent: "mia" });
    assert.equal((await absent.json()).code, "agent-offline");
    const mia = await connectBare(scene.running.dialUrl);
    const user_email = "mia@example.org";
    mia.send({ type: "register", user_email, agent: "mia", host: "Boreas" });
    await mia.next("registered");
    const restarted = await scene.ask("POST", "/api/agents/restart", { agent: "mia" });
    assert.equal(restarted.status, 200);
    assert.deepEqual(scene.asked, [["agents", "restart", "--json", "--", "mia"]]);
    mia.connection.terminate();
    await mia.closed;
  });
});

Deno.test("a failed verb returns its exit code, and a refusing daemon fails the job", async () => {
  await withScene(done({ error: { code: "x" } }, 1), async (scene) => {
    await scene.unit();
    const failed = await scene.ask("GET", "/api/host/status?host=boreas");
    assert.deepEqual(await failed.json(), { exit: 1, report: { error: { code: "x" } } });
  });
  const refused: FakeDaemon = () => [{
    type: "refused",
    error: { code: "daemon-busy", kind: "refused", message: "busy", details: [], hints: [] },
  }];
  await withScene(refused, async (scene) => {
    await scene.unit();
    const failed = await scene.ask("GET", "/api/host/status?host=boreas");
    assert.equal(failed.status, 502);
    assert.deepEqual((await failed.json()).code, "host-job-failed");
  });
});

Deno.test("a host that leaves or is revoked during a job leaves no caller waiting", async () => {
  await withScene(() => "silence", async (scene) => {
    const unit = await scene.unit();
    const first = scene.ask("POST", "/api/apply-all", {});
    await settle(() => scene.asked.length === 1);
    await unit.close();
    const [boreas] = (await (await first).json()).hosts;
    assert.equal(boreas.code, "host-lost");
    assert.match(boreas.message, /the job may still be running there/);

    await scene.unit();
    const second = scene.ask("GET", "/api/host/status?host=boreas");
    await settle(() => scene.asked.length === 2);
    await enroll(scene.running.host, { "host:boreas": [] });
    let isOver = false;
    void second.then(() => isOver = true);
    await settle(async () => {
      await scene.running.host.clock.advance(1_000);
      return isOver;
    });
    assert.equal((await (await second).json()).code, "host-lost");
  });
});

Deno.test("at most eight jobs wait for one host", async () => {
  await withScene(() => "silence", async (scene) => {
    const unit = await scene.unit();
    const waiting = Array.from(
      { length: 8 },
      () => scene.ask("GET", "/api/host/status?host=boreas"),
    );
    await settle(() => scene.asked.length === 8);
    const ninth = await scene.ask("GET", "/api/host/status?host=boreas");
    assert.equal(ninth.status, 429);
    assert.equal((await ninth.json()).code, "host-busy");
    await unit.close();
    for (const one of waiting) assert.equal((await (await one).json()).code, "host-lost");
  });
});

Deno.test("a host's forbidden frames change nothing, not even another host's job", async () => {
  await withScene(() => "silence", async (scene) => {
    const { key: other } = await generateDialKey();
    await enroll(scene.running.host, {
      "host:boreas": [scene.key.publicKey],
      "host:zephyr": [other.publicKey],
    });
    await scene.unit();
    const zephyr = await proveKey(scene.running.dialUrl, other, {
      agent: "host:zephyr",
      userEmail: "",
    });
    await zephyr.next("registered");
    const asked = scene.ask("GET", "/api/host/status?host=boreas");
    await settle(() => scene.asked.length === 1);
    const { lines } = scene.running.host.log;
    const begun = lines.find(({ event }) => event === "job of a host");
    const id = String(begun?.fields?.id ?? "");
    assert.notEqual(id, "");
    zephyr.send({ type: "job_result", id, exit: 0, output: '"forged"' });
    const at = 1;
    const event = { seq: 1, at, kind: "agent_state", payload: { state: "idle", since: at } };
    zephyr.send({ type: "event", event });
    zephyr.send({ type: "message", id: "m", to: "mia", text: "hi" });
    const droppedCount = () =>
      lines.filter(({ event }) => event === "frame of a host dropped").length;
    await settle(() => droppedCount() === 3);
    zephyr.connection.terminate();
    await zephyr.closed;
    // The job is answered only when boreas' own connection ends.
    let isOver = false;
    void asked.then(() => isOver = true);
    assert.equal(isOver, false);
    await enroll(scene.running.host, {});
    await settle(async () => {
      await scene.running.host.clock.advance(1_000);
      return isOver;
    });
    assert.equal((await (await asked).json()).code, "host-lost");
  });
});
