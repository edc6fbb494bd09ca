/**
 * Jobs of hosts through the cockpit of a real gateway: started by one request, reported by the
 * stream, kept for pages that load later, and bounded in number.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { ok } from "core/result.ts";
import { openJobStore, PROGRESS_MS } from "gateway/hosts/job_store.ts";
import { createHostRegistry } from "gateway/hosts/host_registry.ts";
import { createSessionRegistry, type DialSession } from "core/dial/sessions.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";
import { startTestGateway, type TestGateway } from "tests/support/gateway_fixture.ts";
import { type HostKeys, hostKeys, type ScriptedHost } from "tests/support/scripted_host.ts";

const ADMIN = "ada@example.org";

// deno-lint-ignore no-explicit-any -- answers are checked field by field
type Answer = { readonly status: number; readonly body: any };

interface Scene {
  readonly running: TestGateway;
  readonly own: MemoryHost;
  readonly keys: HostKeys;
  readonly atlas: ScriptedHost;
  get(path: string, email?: string): Promise<Answer>;
  begin(body: unknown, email?: string): Promise<Answer>;
  /** Events of `/events?topics=hosts`, one at a time. */
  follow(): Promise<{ until(event: string): Promise<Answer["body"]>; end(): Promise<void> }>;
}

function test(name: string, tell: (scene: Scene) => Promise<void>): void {
  Deno.test({
    name,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      const own = memoryHost();
      const keys = hostKeys(own.files);
      await keys.enroll("atlas");
      await using running = await startTestGateway({ host: own });
      const atlas = await keys.connect(running.dialUrl, "atlas");
      const call = async (path: string, email: string, init: RequestInit = {}) => {
        const headers = { "x-user-email": email, "content-type": "application/json" };
        const answer = await fetch(`${running.cockpitUrl}${path}`, { ...init, headers });
        return { status: answer.status, body: await answer.json() };
      };
      await tell({
        running,
        own,
        keys,
        atlas,
        get: (path, email = ADMIN) => call(path, email),
        begin: (body, email = ADMIN) =>
          call("/api/host/jobs", email, { method: "POST", body: JSON.stringify(body) }),
        follow: () => follow(running),
      });
      atlas.client.connection.terminate();
      await atlas.client.closed;
    },
  });
}

async function follow({ cockpitUrl }: TestGateway) {
  const answer = await fetch(`${cockpitUrl}/events?topics=hosts`, {
    headers: { "x-user-email": ADMIN },
  });
  assert.equal(answer.status, 200);
  const source = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.ok(source);
  const waiting: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => waiting.push(event) });
  return {
    until: async (event: string) => {
      for (;;) {
        const found = waiting.shift();
        if (found?.event === event) return JSON.parse(found.data);
        if (found !== undefined) continue;
        const { value, done } = await source.read();
        assert.ok(!done, `the stream ended before ${event}`);
        parser.feed(value);
      }
    },
    end: () => source.cancel(),
  };
}

test("a job request is answered at once; the stream reports start and end", async (scene) => {
  const { atlas } = scene;
  const stream = await scene.follow();
  const first = await stream.until("hosts");
  assert.equal(first.version, "1.2.3");
  assert.equal(first.is_complete, true);
  assert.deepEqual(
    first.hosts.map((one: Record<string, unknown>) => [one.host, one.is_online, one.jobs]),
    [["atlas", true, []]],
  );
  const { status, body } = await scene.begin({ host: "atlas", job: "apply" });
  assert.equal(status, 202);
  assert.deepEqual([body.job, body.by, body.ended, body.exit], ["apply", ADMIN, null, null]);
  assert.equal((await stream.until("host")).jobs[0].ended, null);
  const job = await atlas.take();
  assert.deepEqual([job.id, job.job, job.by], [body.id, "apply", ADMIN]);
  atlas.done(job, { files: [], faults: [{ code: "x" }] }, 1);
  const ended = (await stream.until("host")).jobs[0];
  assert.deepEqual([ended.id, ended.exit, ended.code], [body.id, 1, null]);
  assert.notEqual(ended.ended, null);
  assert.equal("report" in ended, false, "what was printed is asked for by itself");
  const kept = await scene.get("/api/host/jobs?host=atlas");
  assert.deepEqual(kept.body.jobs[0].report, { files: [], faults: [{ code: "x" }] });
  await stream.end();
});

test("a job reports its progress, at a rate that pages can show", async (scene) => {
  const { atlas, own } = scene;
  const stream = await scene.follow();
  await stream.until("hosts");
  await scene.begin({ host: "atlas", job: "apply" });
  const job = await atlas.take();
  assert.equal((await stream.until("host")).jobs[0].progress, null);
  atlas.says(job, "[1/900] vendor git");
  assert.equal((await stream.until("host")).jobs[0].progress, "[1/900] vendor git");
  for (let step = 2; step <= 900; step++) atlas.says(job, `[${step}/900] start a`);
  atlas.says({ ...job, id: "another job" }, "forged");
  const newest = async () => (await scene.get("/api/host/jobs?host=atlas")).body.jobs[0].progress;
  while (await newest() !== "[900/900] start a");
  await own.clock.advance(PROGRESS_MS);
  assert.equal((await stream.until("host")).jobs[0].progress, "[900/900] start a");
  atlas.done(job, { files: [] });
  const ended = (await stream.until("host")).jobs[0];
  assert.deepEqual([ended.exit, ended.progress], [0, null]);
  atlas.says(job, "too late");
  await own.clock.advance(PROGRESS_MS);
  assert.equal(await newest(), null);
  await stream.end();
});

test("a host's connects and disconnects are reported, and its job ends with it", async (scene) => {
  const { atlas, keys, running } = scene;
  const stream = await scene.follow();
  await stream.until("hosts");
  await scene.begin({ host: "atlas", job: "restart", agent: "mia" });
  await stream.until("host");
  assert.equal((await atlas.take()).agent, "mia");
  await atlas.vanish();
  let card = await stream.until("host");
  while (card.is_online) card = await stream.until("host");
  assert.equal(card.jobs[0].code, "host-lost");
  assert.match(card.jobs[0].message, /the job may still be running there/);
  assert.match(card.jobs[0].hints[0], /fleetctl audit list/);
  assert.equal((await scene.begin({ host: "atlas", job: "apply" })).body.code, "host-offline");
  const again = await keys.connect(running.dialUrl, "atlas", { version: "1.3.0" });
  card = await stream.until("host");
  assert.deepEqual([card.is_online, card.version], [true, "1.3.0"]);
  await stream.end();
  await again.vanish();
});

test("the same job runs once per host for all requesters, beside other jobs", async (scene) => {
  const { atlas } = scene;
  const apply = { host: "atlas", job: "apply" };
  assert.equal((await scene.begin(apply)).status, 202);
  const second = await scene.begin(apply);
  assert.equal(second.status, 409);
  assert.equal(second.body.code, "host-job-running");
  assert.match(second.body.detail, /requested by ada@example\.org/);
  assert.equal((await scene.begin({ host: "atlas", job: "restart", agent: "mia" })).status, 202);
  assert.equal((await scene.begin({ host: "atlas", job: "restart", agent: "bob" })).status, 202);
  const job = await atlas.take();
  atlas.failed(job, "daemon-busy", "busy");
  while ((await scene.get("/api/host/jobs?host=atlas")).body.jobs.at(-1).ended === null);
  const [, , first] = (await scene.get("/api/host/jobs?host=atlas")).body.jobs;
  assert.equal(first.code, "host-job-failed");
  assert.equal((await scene.begin(apply)).status, 202);
});

test("a request that is not a job is refused, and its field is named", async (scene) => {
  for (
    const body of [
      { host: "atlas", job: "status" },
      { host: "atlas", job: "secret get" },
      { host: "atlas", job: "restart" },
      { host: "atlas", job: "apply", agent: "mia" },
      { host: "", job: "apply" },
      { host: "atlas", job: "restart", agent: "x".repeat(65) },
    ]
  ) {
    const { status, body: problem } = await scene.begin(body);
    assert.deepEqual([status, problem.code], [400, "input-invalid"], JSON.stringify(body));
  }
  assert.equal(scene.atlas.client.frames.filter(({ type }) => type === "job").length, 0);
});

test("a viewer who is not an admin gets nothing about hosts, by route or topic", async (scene) => {
  const bob = "bob@example.org";
  for (
    const path of ["/api/hosts", "/api/host/jobs?host=atlas", "/events?topics=agents,hosts"]
  ) {
    const { status, body } = await scene.get(path, bob);
    assert.deepEqual([status, body.code], [403, "fleet-denied"], path);
    assert.doesNotMatch(JSON.stringify(body), /atlas/);
  }
  const refused = await scene.begin({ host: "atlas", job: "apply" }, bob);
  assert.deepEqual([refused.status, refused.body.code], [403, "fleet-denied"]);
  assert.equal(scene.atlas.client.frames.filter(({ type }) => type === "job").length, 0);
});

test("a damaged key list hides no connected host, and is reported", async (scene) => {
  await scene.own.files.write("/r/etc/fleetctl/dial-keys.json", "{");
  const { status, body } = await scene.get("/api/hosts");
  assert.equal(status, 200);
  assert.equal(body.is_complete, false);
  assert.deepEqual(body.hosts.map(({ host }: { host: string }) => host), ["atlas"]);
});

Deno.test("a job without an answer times out, and says that it may continue", async () => {
  const clock = fakeClock();
  const registry = createSessionRegistry(clock);
  const sent: unknown[] = [];
  const published: unknown[] = [];
  const hosts = createHostRegistry({
    registry,
    clock,
    log: recordingLog(),
    random: memoryHost().random,
    keys: { agents: () => Promise.resolve(new Set()), listed: () => Promise.resolve([]) },
    hub: { publish: (items) => published.push(...items) },
    agents: { attach: () => {}, detach: () => {}, receive: () => {} },
  });
  hosts.router.attach(
    {
      agent: "host:atlas",
      send: (frame: unknown) => sent.push(frame) > 0,
    } as unknown as DialSession,
    undefined,
  );
  const begun = hosts.begin("atlas", { job: "apply", by: "ada@example.org" });
  assert.ok(begun.ok);
  await clock.advance(DIAL_LIMITS.jobSeconds * 1000 - 1);
  assert.equal(hosts.jobs("atlas")[0]?.ended, null);
  await clock.advance(1);
  const [job] = hosts.jobs("atlas");
  assert.deepEqual([job?.id, job?.code, job?.exit], [begun.value.id, "host-late", null]);
  assert.match(job?.message ?? "", /no answer within 600 s; the job may still be running there/);
  assert.equal(sent.length, 1);
  assert.equal(published.length, 3, "it came, the job began, the job ended");
  assert.equal(clock.pending(), 0);
});

Deno.test("the job store keeps the newest jobs of a host and the newest reports", () => {
  const changed: string[] = [];
  const jobs = openJobStore(fakeClock(), (host) => changed.push(host));
  const hosts = Array.from({ length: 9 }, (_, n) => `h${n}`);
  const { jobsKeptPerHost, jobReportsKept } = DIAL_LIMITS;
  for (const host of hosts) {
    for (let n = 0; n < jobsKeptPerHost + 3; n++) {
      const id = `${host}-${n}`;
      jobs.begin({ id, host, job: "apply", agent: null, by: "a" });
      jobs.end(id, ok({ exit: 0, report: { n } }));
    }
  }
  const all = hosts.map((host) => jobs.of(host));
  assert.ok(all.every((jobs) => jobs.length <= jobsKeptPerHost + 1));
  assert.equal(all[0]?.[0]?.id, `h0-${jobsKeptPerHost + 2}`);
  assert.equal(all.flat().filter(({ report }) => report !== null).length, jobReportsKept);
  assert.deepEqual(all.at(-1)?.[0]?.report, { n: jobsKeptPerHost + 2 });
  assert.equal(changed.length, hosts.length * (jobsKeptPerHost + 3) * 2);
});
