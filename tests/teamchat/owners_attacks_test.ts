/**
 * Owners who are removed at the worst moment: between a message and the disk, between the gate and
 * the registration, while an approval card waits at the platform, and in a file behind a link.
 * Their data is sent nowhere, and no one else gets it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { error } from "tests/teamchat/connector/conversation.ts";
import { FILE_HOST } from "tests/teamchat/connector/file_service.ts";
import {
  agentOf,
  AGENTS,
  RESET_ASKED,
  type TestAgent,
  type TestTeamchat,
  textsIn,
} from "tests/teamchat/fixture.ts";
import {
  NEW_OWNER,
  type OwnedTeamchat,
  ownersTest,
  WITHOUT_BEA,
} from "tests/teamchat/owner_file.ts";

/** The longest pause between two tries: after it, every failed request would have been repeated. */
const REPEATED_MS = TEAMCHAT_LIMITS.retryAfterMsMax;

function test(name: string, fn: (at: OwnedTeamchat) => Promise<void>, isLink = false): void {
  ownersTest(name, fn, { isLink, env: { TEAMS_FILE_HOSTS: FILE_HOST } });
}

/** Posts without advancing the clock, so that pending writes wait. */
async function say(at: TestTeamchat, activity: unknown): Promise<Response> {
  return await fetch(at.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${await at.kit.keys.token(at.kit.serviceUrl)}`,
    },
    body: JSON.stringify(activity),
  });
}

const turnEvent = () => new Promise((resolve) => setTimeout(resolve, 0));

test("a file behind a link is watched like any other", async (at) => {
  const agent = await at.agent();
  // Long enough that an unchanged link itself counts as settled.
  await at.clock.advance(DIAL_LIMITS.keyFileSettledMs * 2);
  await at.setOwners(WITHOUT_BEA);
  await at.post(at.message("still there?"));
  await at.clock.advance(10_000);
  assert.deepEqual(agent.frames.filter(({ type }) => type === "turn"), []);
  assert.equal((await at.withoutClock(agent.closed)).code, 1008);
}, true);

test("a message sent while its owner is being removed reaches no agent", async (at) => {
  const timers = at.clock.pending();
  const first = say(at, at.message("a secret of the former owner"));
  // The message is routed and waits to be written.
  while (at.clock.pending() === timers) await turnEvent();
  await at.write({ ...WITHOUT_BEA, [NEW_OWNER]: "bea" });
  // A message of an unknown person makes the gateway check the file.
  const from = { id: "29:new", aadObjectId: NEW_OWNER };
  const conversation = { id: "a:new", conversationType: "personal" };
  const second = say(at, at.message("for me", { from, conversation }));
  while (!at.host.log.lines.some(({ event }) => event === "owners changed")) await turnEvent();
  for (const answer of await at.withoutClock(Promise.all([first, second]))) {
    assert.equal(answer.status, 202);
    await at.withoutClock(answer.text());
  }
  // Make the agent belong to both, which is a separate change that removes nothing.
  await at.setOwners({ ...AGENTS, [NEW_OWNER]: "bea" });
  const agent = await at.agent("bea");
  const { turnId, text } = await at.withoutClock(agent.begin());
  assert.equal(text, "for me");
  agent.answer(turnId, "yours");
  await at.until(() => textsIn(at, "a:new").includes("yours"));
  await at.clock.advance(10_000);
  assert.equal(agent.frames.filter(({ type }) => type === "turn").length, 1);
});

test("an agent that was checked before a change does not register after it", async (at) => {
  const client = await at.dial("bea");
  await at.setOwners({ ...WITHOUT_BEA, [NEW_OWNER]: "bea" });
  client.send({ type: "register", user_email: "", agent: "bea", epoch: "e-bea" });
  const ended = client.closed.then(({ code }) => `closed ${code}`);
  const registered = client.next("registered").then(() => "registered", () => "closed");
  assert.match(await at.withoutClock(Promise.race([ended, registered])), /^closed/);
  assert.equal((await at.withoutClock(client.closed)).code, 1008);
});

test("a question that waits at the platform is not put to a former owner", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("delete it"));
  const { turnId } = await at.withoutClock(agent.begin());
  at.kit.script({
    kind: "message",
    times: 1,
    effect: { answer: error(429, "TooManyRequests", "slow down", { "retry-after": "5" }) },
  });
  agent.event("approval_asked", turnId, { ...RESET_ASKED, arguments: { path: "a secret" } });
  const asked = () => at.kit.calls.filter(({ body }) => JSON.stringify(body).includes("a secret"));
  await at.until(() => asked().length === 1, 50);
  await at.setOwners(WITHOUT_BEA);
  await at.clock.advance(REPEATED_MS);
  assert.equal(asked().length, 1);
});

const REPORT = new TextEncoder().encode("a secret report");
const SLOW = error(429, "TooManyRequests", "slow down", { "retry-after": "5" });

/** Lets the owner write once, so that the agent knows the conversation; returns the agent. */
async function offer(at: TestTeamchat): Promise<TestAgent> {
  const agent = await at.agent();
  await at.post(at.message("hi"));
  const { turnId } = await at.withoutClock(agent.begin());
  agent.answer(turnId, "hi");
  await at.until(() => at.kit.conversation("a:bea").messages.length === 1);
  return agent;
}

function sendReport(agent: TestAgent): void {
  agent.send({
    type: "owner_file",
    id: "f1",
    name: "report.pdf",
    description: "The report",
    size: REPORT.length,
    offset: 0,
    data: REPORT.toBase64(),
  });
}

test("a file whose offer waits at the platform is not offered to a former owner", async (at) => {
  const agent = await offer(at);
  at.kit.script({ kind: "message", times: 1, effect: { answer: SLOW } });
  sendReport(agent);
  const offers = () => at.kit.calls.filter(({ body }) => JSON.stringify(body).includes("report"));
  await at.until(() => offers().length === 1, 50);
  await at.setOwners(WITHOUT_BEA);
  await at.clock.advance(REPEATED_MS);
  assert.equal(offers().length, 1);
});

test("an upload that has begun stops when its owner is removed", async (at) => {
  sendReport(await offer(at));
  const consents = () =>
    at.kit.conversation("a:bea").messages.flatMap(({ body }) =>
      (body.attachments ?? []) as { contentType: string; content: { acceptContext: unknown } }[]
    ).filter(({ contentType }) => contentType.endsWith("file.consent"));
  await at.until(() => consents().length === 1);
  const { uploadUrl, session } = at.kit.files.openUpload(REPORT.length);
  const busy = () => new Response(null, { status: 503 });
  at.kit.files.failUploads(busy(), busy());
  const uploadInfo = {
    uploadUrl,
    contentUrl: `https://${FILE_HOST}/personal/report.pdf`,
    name: "report.pdf",
    uniqueId: "u1",
    fileType: "pdf",
  };
  const context = consents()[0]?.content.acceptContext;
  const value = { type: "fileUpload", action: "accept", context, uploadInfo };
  await at.post(at.message("", { type: "invoke", name: "fileConsent/invoke", value }));
  await at.until(() => at.kit.files.requests.length === 1, 50);
  await at.setOwners(WITHOUT_BEA);
  await at.clock.advance(REPEATED_MS);
  assert.equal(at.kit.files.requests.length, 1);
  assert.equal(session.bytes, undefined);
  const left = at.host.files.list("/r/var/lib/fleetctl/teamchat/files/out");
  assert.deepEqual(await left, []);
});

test("a turn that a full disk kept open goes to no other owner's agent", async (at) => {
  await at.post(at.message("a secret of the former owner"));
  at.fill(true);
  await at.setOwners({ ...WITHOUT_BEA, [NEW_OWNER]: "bea" });
  at.fill(false);
  const agent = await at.withoutClock(agentOf(await at.dial("bea", NEW_OWNER), "bea"));
  const from = { id: "29:new", aadObjectId: NEW_OWNER };
  const conversation = { id: "a:new", conversationType: "personal" };
  await at.post(at.message("for me", { from, conversation }));
  await at.until(() => agent.frames.some(({ type }) => type === "turn"));
  await at.clock.advance(30_000);
  const turns = agent.frames.filter(({ type }) => type === "turn");
  assert.deepEqual(turns.map(({ text }) => text), ["for me"]);
});
