/**
 * One served connection with a fake clock and a scripted peer: one that does not complete the
 * closing handshake, one that disconnects early or during its look-up, one that sends too many
 * events.
 *
 * @module
 */

import assert from "node:assert/strict";
import { CLOSE } from "core/dial/frames.ts";
import { createInboxes } from "core/dial/inbox.ts";
import { type Admission, serveSession } from "core/dial/serve_session.ts";
import { createSessionRegistry, type DialSession } from "core/dial/sessions.ts";
import { refusal } from "core/errors.ts";
import { EVENT_LIMITS } from "core/limits/event.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { createMetricSet } from "core/metrics.ts";
import { DIAL_COUNTERS, DIAL_GAUGES } from "core/dial/counts.ts";
import { err, ok, type Result } from "core/result.ts";
import { FileFault } from "core/ports/files.ts";
import { fakeClock, settle } from "tests/fakes/clock.ts";
import { fakePeer } from "tests/fakes/frame_peer.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { seededRandom } from "tests/fakes/random.ts";

function serve(admit: () => Promise<Admission>, receive = () => {}) {
  const clock = fakeClock();
  const log = recordingLog();
  const registry = createSessionRegistry(clock);
  const metrics = createMetricSet("t", { counters: DIAL_COUNTERS, gauges: DIAL_GAUGES });
  const peer = fakePeer();
  const reported: string[] = [];
  serveSession(peer.connection, {
    nonce: undefined,
    admit,
    onAccepted: (agent) => reported.push(`accepted ${agent}`),
    onRejected: ({ agent }, reason) => reported.push(`rejected ${agent} ${reason}`),
    onSettled: () => reported.push("settled"),
  }, {
    router: {
      attach: (session) => registry.put(session),
      receive,
      detach: (session, code) => void registry.remove(session, code),
    },
    ackedSeq: () => 7,
    metrics,
    clock,
    log,
    random: seededRandom(),
    version: "1.2.3",
  });
  return { clock, log, registry, metrics, peer, reported };
}

const REGISTER = { type: "register", user_email: "mia@example.org", agent: "mia" };
const accept = () => Promise.resolve({ accept: true, agent: "mia", provenKey: "k" } as const);

Deno.test("serveSession() drops a peer that does not answer a close of either side", async () => {
  for (const how of ["close", "end"] as const) {
    const { clock, registry, peer, reported } = serve(accept);
    peer.say(REGISTER);
    await settle();
    assert.deepEqual(reported, ["accepted mia", "settled"]);
    assert.deepEqual(peer.sent, [{
      type: "registered",
      version: "1.2.3",
      protocol: 1,
      acked_seq: 7,
      heartbeat_seconds: DIAL_LIMITS.heartbeatSeconds,
    }]);
    registry.get("mia")?.[how](CLOSE.policyViolation, "no more");
    assert.deepEqual(peer.ends, [CLOSE.policyViolation]);
    // `end` removes the session at once; `close` keeps it until the peer answers or the time is up.
    assert.equal(registry.get("mia") === undefined, how === "end");
    await clock.advance(1_000);
    assert.deepEqual(peer.ends, [CLOSE.policyViolation, "terminated"]);
    assert.equal(registry.get("mia"), undefined);
    assert.equal(clock.pending(), 0);
  }
});

Deno.test("serveSession() reports a peer that disconnected before it registered", () => {
  for (
    const [code, reason] of [
      [CLOSE.normal, "closed-before-register"],
      [CLOSE.tooBig, "first-frame-too-big"],
    ] as const
  ) {
    const { clock, metrics, peer, reported } = serve(accept);
    peer.leave(code);
    assert.deepEqual(reported, [`rejected  ${reason}`, "settled"]);
    assert.equal(metrics.value("registers", { result: "rejected", reason }), 1);
    assert.equal(clock.pending(), 0);
  }
});

Deno.test("serveSession() does not register a peer that left during the look-up", async () => {
  const admission = Promise.withResolvers<Admission>();
  const { registry, peer, reported } = serve(() => admission.promise);
  peer.say(REGISTER);
  peer.leave(1006);
  admission.resolve({ accept: true, agent: "mia", provenKey: undefined });
  await settle();
  assert.equal(registry.get("mia"), undefined);
  assert.deepEqual(reported, ["settled"]);
});

Deno.test("serveSession() rejects a peer whose look-up fails", async () => {
  const { log, peer, reported } = serve(() => Promise.reject(new Error("disk")));
  peer.say(REGISTER);
  await settle();
  assert.deepEqual(reported, ["rejected mia check-failed"]);
  assert.deepEqual(peer.ends, [CLOSE.policyViolation]);
  assert.equal(log.of("register check failed")[0]?.fields.error, "disk");
});

Deno.test("serveSession() ends only the connection whose frame is invalid", async () => {
  const { clock, log, registry, peer } = serve(accept, () => {
    throw new FileFault("EIO", "/r/x.db", "disk I/O error");
  });
  peer.say(REGISTER);
  await settle();
  peer.say({ type: "turn_accepted", turn_id: "t" });
  assert.deepEqual(peer.ends, [CLOSE.tryAgainLater]);
  assert.equal(log.of("frame not processed")[0]?.fields.error, "disk I/O error");
  peer.say({ type: "turn_accepted", turn_id: "t" });
  assert.equal(log.of("frame not processed").length, 1);
  peer.leave(CLOSE.tryAgainLater);
  assert.equal(registry.get("mia"), undefined);
  assert.equal(clock.pending(), 0);
});

const EVENT = { seq: 1, at: 1, kind: "notice", payload: { text: "n" } } as const;
const STORED = { ackedSeq: 2, repeated: 0, otherAgents: 0, hasGap: false };

function inboxes(append: () => Result<typeof STORED>) {
  const log = recordingLog();
  const metrics = createMetricSet("t", { counters: DIAL_COUNTERS, gauges: DIAL_GAUGES });
  const results: unknown[] = [];
  const clock = fakeClock();
  const pauses: number[] = [];
  const session: DialSession = {
    agent: "mia",
    userEmail: "mia@example.org",
    host: undefined,
    version: undefined,
    protocol: undefined,
    epoch: "e",
    provenKey: undefined,
    peer: "p",
    since: 0,
    send: (frame) => results.push(frame) > 0,
    pauseReading: (ms) => void pauses.push(ms),
    close: (code, reason) => void results.push([code, reason]),
    end: () => {},
  };
  const writes: (() => Promise<void>)[] = [];
  const batches: number[] = [];
  const take = createInboxes({
    append: (_session, events) => {
      batches.push(events.length);
      return append();
    },
    onStored: () => results.push("stored"),
    run: (_agent, write) => void writes.push(write),
    metrics,
    clock,
    log,
  });
  return { log, clock, metrics, pauses, results, session, writes, batches, take };
}

Deno.test("createInboxes() writes events that arrive together, then acknowledges", async () => {
  const { results, session, writes, batches, take } = inboxes(() => ok(STORED));
  take(session, EVENT);
  take(session, { ...EVENT, seq: 2 });
  assert.equal(writes.length, 1);
  assert.deepEqual(results, []);
  await writes[0]?.();
  assert.deepEqual(batches, [2]);
  assert.deepEqual(results, ["stored", { type: "ack", seq: 2 }]);
});

Deno.test("createInboxes() acknowledges nothing that is not stored", async () => {
  const { log, results, session, writes, take } = inboxes(() =>
    err(refusal("storage-failed", "Cannot store events: the disk is full"))
  );
  take(session, EVENT);
  await writes[0]?.();
  assert.deepEqual(results, [[CLOSE.tryAgainLater, "storage"]]);
  assert.equal(log.of("event not stored").length, 1);
});

Deno.test("createInboxes() disconnects an agent that exceeds the limit of unstored events", () => {
  const { log, results, session, writes, take } = inboxes(() => ok(STORED));
  for (let seq = 1; seq <= DIAL_LIMITS.unstoredEventsMax + 1; seq++) {
    take(session, { ...EVENT, seq });
  }
  assert.deepEqual(results, [[CLOSE.policyViolation, "too many events"]]);
  assert.equal(log.of("agent exceeds the limit of unstored events").length, 1);
  assert.equal(writes.length, 1);
});

Deno.test("createInboxes() slows reading from a fast agent, and loses nothing", async () => {
  const { log, metrics, clock, pauses, session, writes, take } = inboxes(() => ok(STORED));
  const text = "x".repeat(1024 * 1024);
  const large = { ...EVENT, payload: { text } };
  const room = Math.floor(EVENT_LIMITS.bytesBurst / JSON.stringify(large.payload).length);
  for (let seq = 1; seq <= room; seq++) {
    take(session, { ...large, seq });
    await writes.shift()?.();
  }
  assert.deepEqual(pauses, []);
  take(session, { ...large, seq: room + 1 });
  take(session, { ...large, seq: room + 2 });
  assert.equal(pauses.length, 2);
  assert.ok(pauses.every((ms) => ms > 0));
  assert.equal(metrics.value("paced", {}), 2);
  // One log line is written, and both events wait to be stored.
  assert.equal(log.of("agent exceeds its event rate; reading is slowed").length, 1);
  assert.equal(writes.length, 1);
  await clock.advance(EVENT_LIMITS.logIntervalMs);
  for (let seq = 0; seq <= room; seq++) {
    take(session, { ...large, seq });
    await writes.shift()?.();
  }
  assert.equal(log.of("agent exceeds its event rate; reading is slowed").length, 2);
});

Deno.test("serveSession() pauses its connection for the longest requested time", async () => {
  const { clock, registry, peer } = serve(accept);
  peer.say(REGISTER);
  await settle();
  registry.get("mia")?.pauseReading(500);
  registry.get("mia")?.pauseReading(1_000);
  await clock.advance(999);
  assert.deepEqual(peer.flow, ["pause", "pause"]);
  await clock.advance(1);
  assert.deepEqual(peer.flow, ["pause", "pause", "resume"]);
  registry.get("mia")?.pauseReading(500);
  peer.leave(1006);
  assert.equal(clock.pending(), 0);
});
