/**
 * Files that agents offer: a card asks the owner. After the owner's own consent the file is
 * uploaded once, in time, to an allowed host, and the agent gets the outcome.
 *
 * @module
 */

import assert from "node:assert/strict";
import { FILE_HOST } from "tests/teamchat/connector/file_service.ts";
import { error } from "tests/teamchat/connector/conversation.ts";
import {
  CAL_OWNER,
  teamchatTest,
  type TestAgent,
  type TestTeamchat,
} from "tests/teamchat/fixture.ts";

const FILE = new TextEncoder().encode("the report");

function test(name: string, fn: (at: TestTeamchat, agent: TestAgent) => Promise<void>): void {
  teamchatTest(name, async (at) => {
    const agent = await at.agent();
    await at.post(at.message("hi"));
    const { turnId } = await at.withoutClock(agent.begin());
    agent.answer(turnId, "hi");
    await at.until(() => at.kit.conversation("a:bea").messages.length === 1);
    await fn(at, agent);
  }, { env: { TEAMS_FILE_HOSTS: FILE_HOST } });
}

/** Offers the file; returns the result. */
async function offer(at: TestTeamchat, agent: TestAgent, more: object = {}) {
  const piece = {
    type: "owner_file",
    id: "f1",
    name: "report.pdf",
    description: "The report",
    size: FILE.length,
    offset: 0,
    data: FILE.toBase64(),
  };
  agent.send({ ...piece, ...more });
  let result: Record<string, unknown> | undefined;
  void agent.next("owner_message_result").then((frame) => result = frame);
  await at.until(() => result !== undefined);
  return result ?? {};
}

interface Card {
  readonly contentType: string;
  readonly name: string;
  readonly content: { readonly acceptContext: unknown; readonly sizeInBytes: number };
}

function cardsOf(at: TestTeamchat, kind: string): readonly Card[] {
  return at.kit.conversation("a:bea").messages
    .flatMap(({ body }) => (body.attachments ?? []) as Card[])
    .filter(({ contentType }) => contentType.endsWith(kind));
}

/** Returns the press of a button on the card. */
function press(at: TestTeamchat, action: "accept" | "decline", more: object = {}) {
  const card = cardsOf(at, "file.consent").at(-1);
  const { uploadUrl, session } = at.kit.files.openUpload(FILE.length);
  const uploadInfo = {
    uploadUrl,
    contentUrl: `https://${FILE_HOST}/personal/report.pdf`,
    name: "report.pdf",
    uniqueId: "u1",
    fileType: "pdf",
  };
  const value = {
    type: "fileUpload",
    action,
    context: card?.content.acceptContext,
    ...(action === "accept" ? { uploadInfo } : {}),
  };
  const invoke = { type: "invoke", name: "fileConsent/invoke", value, ...more };
  return { session, invoke: at.message("", invoke), uploadInfo };
}

async function nextDelivery(at: TestTeamchat, agent: TestAgent): Promise<unknown> {
  let event: Record<string, unknown> | undefined;
  void agent.next("owner_event").then((frame) => event = frame);
  await at.until(() => event !== undefined, 60_000);
  agent.send({ type: "owner_event_taken", id: event?.id });
  assert.equal(event?.kind, "file");
  return event?.payload;
}

test("a file is offered, uploaded after consent, and shown", async (at, agent) => {
  const sent = await offer(at, agent);
  assert.equal(sent.outcome, "delivered");
  const [card] = cardsOf(at, "file.consent");
  assert.deepEqual([card?.name, card?.content.sizeInBytes], ["report.pdf", FILE.length]);
  const { session, invoke } = press(at, "accept");
  const posted = await at.post(invoke);
  assert.deepEqual([posted.status, posted.text], [200, "{}"]);
  assert.deepEqual(await nextDelivery(at, agent), { name: "report.pdf", result: "accepted" });
  assert.deepEqual(session.bytes, FILE);
  await at.until(() => cardsOf(at, "file.info").length === 1);
  assert.deepEqual(at.kit.violations(), []);
  assert.doesNotMatch(JSON.stringify(at.host.log.lines), /secret-right|tempauth/);
});

test("a file in pieces is complete; pieces that do not fit are refused", async (at, agent) => {
  const [one, two] = [FILE.subarray(0, 4), FILE.subarray(4)];
  agent.send({
    type: "owner_file",
    id: "f1",
    name: "a.txt",
    description: "",
    size: FILE.length,
    offset: 0,
    data: one.toBase64(),
  });
  assert.equal((await at.withoutClock(agent.next("owner_file_taken"))).next, 4);
  const sent = await offer(at, agent, { name: "a.txt", offset: 4, data: two.toBase64() });
  assert.equal(sent.outcome, "delivered");
  const { session, invoke } = press(at, "accept");
  await at.post(invoke);
  await nextDelivery(at, agent);
  assert.deepEqual(session.bytes, FILE);
  for (
    const more of [
      { id: "f2", offset: 3 },
      { id: "f3", data: "no base64!" },
      { id: "f4", size: 3 },
      { id: "f5", data: "" },
    ]
  ) assert.equal((await offer(at, agent, more)).outcome, "failed", JSON.stringify(more));
  assert.equal((await offer(at, agent, { id: "f6", size: 99_999_999 })).outcome, "too_large");
});

test("a refusal is reported, and nothing is uploaded", async (at, agent) => {
  await offer(at, agent);
  const { invoke } = press(at, "decline");
  assert.equal((await at.post(invoke)).status, 200);
  assert.deepEqual(await nextDelivery(at, agent), { name: "report.pdf", result: "declined" });
  assert.deepEqual(at.kit.files.requests, []);
});

test("a consent counts once", async (at, agent) => {
  await offer(at, agent);
  const first = press(at, "accept");
  // The platform repeats the invoke, under the same id and under a new one.
  for (const each of [first.invoke, first.invoke, { ...first.invoke, id: "again" }]) {
    assert.equal((await at.post(each)).status, 200);
  }
  await nextDelivery(at, agent);
  const second = press(at, "accept");
  assert.equal((await at.post(second.invoke)).status, 200);
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.messages.some(({ text }) => /no longer offered/.test(text)));
  assert.equal(second.session.bytes, undefined);
  assert.equal(at.kit.files.requests.length, 1);
});

test(
  "another user's press does not count, nor a press in another conversation",
  async (at, agent) => {
    await offer(at, agent);
    const from = { id: "29:cal", aadObjectId: CAL_OWNER };
    const conversation = { id: "a:other", conversationType: "personal" };
    const foreign = [
      press(at, "accept", { from, conversation: { id: "a:cal" } }),
      press(at, "accept", { from }),
      press(at, "decline", { from }),
      press(at, "accept", { conversation }),
    ];
    for (const { invoke } of foreign) assert.equal((await at.post(invoke)).status, 200);
    await at.clock.advance(10_000);
    assert.deepEqual(at.kit.files.requests, []);
    const own = press(at, "accept");
    await at.post(own.invoke);
    assert.deepEqual(await nextDelivery(at, agent), { name: "report.pdf", result: "accepted" });
    assert.deepEqual(own.session.bytes, FILE);
  },
);

test("an offer ends after a day, and a late yes does not count", async (at, agent) => {
  await offer(at, agent);
  const late = press(at, "accept");
  // Advancing the clock by a day runs many timers, so the test sets an earlier expiry.
  const db = await at.host.databases.open("/r/var/lib/fleetctl/teamchat/teamchat.db");
  const [row] = db.prepare("select expires from owner_files").all();
  assert.equal(Number(row?.expires) - at.clock.now() <= 24 * 3_600_000, true);
  db.prepare("update owner_files set expires = ?").run(at.clock.now() + 1_000);
  assert.deepEqual(await nextDelivery(at, agent), { name: "report.pdf", result: "expired" });
  await at.post(late.invoke);
  await at.clock.advance(10_000);
  assert.deepEqual(at.kit.files.requests, []);
});

const PLACES: readonly (readonly [string, object])[] = [
  ["another host", { uploadUrl: "https://evil.test/up" }],
  ["plain http", { uploadUrl: `http://${FILE_HOST}/up` }],
  ["a look-alike", { uploadUrl: `https://${FILE_HOST}.evil.test/up` }],
  ["a content URL on another host", { contentUrl: "https://evil.test/report.pdf" }],
];
for (const [name, wrong] of PLACES) {
  test(`a file is not uploaded to ${name}`, async (at, agent) => {
    await offer(at, agent);
    const { invoke, uploadInfo } = press(at, "accept");
    const value = { ...invoke.value as object, uploadInfo: { ...uploadInfo, ...wrong } };
    await at.post({ ...invoke, value });
    assert.deepEqual(await nextDelivery(at, agent), {
      name: "report.pdf",
      result: "failed",
      reason: "the upload URL is on a host that is not in TEAMS_FILE_HOSTS",
    });
    assert.deepEqual(at.kit.files.requests, []);
    assert.deepEqual(at.kit.violations(), []);
  });
}

const status = (code: number, headers = {}) => new Response(null, { status: code, headers });
const UPLOADS: readonly (readonly [string, () => readonly Response[], object])[] = [
  ["503 and 429", () => [status(503), status(429, { "retry-after": "3" })], { result: "accepted" }],
  ["a redirect", () => [status(302, { location: "https://evil.test/" })], {
    result: "failed",
    reason: "the upload URL redirects to another address",
  }],
  ["a session that ended", () => [status(404)], {
    result: "failed",
    reason: "the upload URL has expired",
  }],
  ["500 for ever", () => Array.from({ length: 9 }, () => status(500)), {
    result: "failed",
    reason: "the file host answered 500",
  }],
];
for (const [name, responses, want] of UPLOADS) {
  test(`the agent gets the outcome of an upload: ${name}`, async (at, agent) => {
    await offer(at, agent);
    at.kit.files.failUploads(...responses());
    await at.post(press(at, "accept").invoke);
    assert.deepEqual(await nextDelivery(at, agent), { name: "report.pdf", ...want });
    assert.deepEqual(at.kit.violations(), []);
  });
}

test("the platform's answer about the card is reported", async (at, agent) => {
  const blocked = error(403, "MessageWritesBlocked", "");
  at.kit.script({ kind: "message", effect: { answer: blocked } });
  assert.equal((await offer(at, agent)).outcome, "blocked");
  at.kit.script({ kind: "message", effect: { answer: error(429, "TooManyRequests", "") } });
  assert.equal((await offer(at, agent, { id: "f2" })).outcome, "delivered");
  assert.equal((await offer(at, agent, { id: "f2" })).outcome, "delivered");
  assert.equal(cardsOf(at, "file.consent").length, 1);
  await at.post(at.message("", { type: "installationUpdate", action: "remove" }));
  assert.equal((await offer(at, agent, { id: "f3" })).outcome, "blocked");
});

test("a file that was accepted before a restart is uploaded after it", async (at, agent) => {
  await offer(at, agent);
  const { session, invoke } = press(at, "accept");
  at.kit.files.failUploads(...Array.from({ length: 4 }, () => status(503)));
  await at.post(invoke);
  await at.until(() => at.kit.files.requests.length > 0);
  const again = await at.restart();
  try {
    at.kit.files.failUploads();
    const back = await again.agent("bea", { open_turns: [] });
    assert.deepEqual(await nextDelivery(again, back), { name: "report.pdf", result: "accepted" });
    assert.deepEqual(session.bytes, FILE);
  } finally {
    await again.withoutClock(again.teamchat.close());
  }
});

const GARBAGE: readonly unknown[] = [
  undefined,
  null,
  5,
  {},
  { type: "fileUpload", action: "accept" },
  { type: "fileUpload", action: "accept", context: { fleetctl_file: "x" } },
  { type: "fileUpload", action: "decline", context: { fleetctl_file: "unknown" } },
  { type: "fileUpload", action: "sell", context: { fleetctl_file: "x" } },
  { type: "fileUpload", action: "accept", context: [], uploadInfo: [] },
];
test("an answer to an unknown card is acknowledged, and has no effect", async (at) => {
  for (const value of GARBAGE) {
    const invoke = at.message("", { type: "invoke", name: "fileConsent/invoke", value });
    assert.equal((await at.post(invoke)).status, 200, JSON.stringify(value));
  }
  await at.clock.advance(10_000);
  assert.deepEqual(at.kit.files.requests, []);
});
