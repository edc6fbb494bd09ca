/**
 * Malformed bodies, methods and paths: each gets an answer, none with 500, and none reaches an
 * agent.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type PostOptions, teamchatTest as test } from "tests/teamchat/fixture.ts";

/** A body, or a change of a valid activity. */
type Row = readonly [
  name: string,
  status: number,
  given: string | Record<string, unknown>,
  post?: PostOptions,
];

const ROWS: readonly Row[] = [
  ["no JSON", 400, "{"],
  ["null", 400, "null"],
  ["a string", 400, '"x"'],
  ["a list", 400, "[]"],
  ["nothing", 400, ""],
  ["a byte order mark", 400, "\ufeff{}"],
  ["no UTF-8", 400, "\xff", { raw: new Uint8Array([0x7b, 0xff, 0x7d]) }],
  ["200 nested lists", 400, `{"type":${"[".repeat(200)}${"]".repeat(200)}}`],
  ["20 000 nested objects", 400, '{"a":'.repeat(20_000) + "1" + "}".repeat(20_000)],
  ["300 KB", 413, JSON.stringify({ type: "message", text: "x".repeat(300_000) })],
  ["5 MB", 413, "x".repeat(5_000_000)],
  ["another type of content", 415, "{}", { headers: { "content-type": "text/plain" } }],
  ["a compressed body", 415, "{}", { headers: { "content-encoding": "gzip" } }],
  ["no type", 400, { type: undefined }],
  ["a number as type", 400, { type: 1 }],
  ["no conversation", 400, { conversation: undefined }],
  ["a conversation without an id", 400, { conversation: {} }],
  ["half a surrogate pair as conversation", 400, { conversation: { id: "a:\ud800" } }],
  ["a conversation id of two dots", 400, { conversation: { id: ".." } }],
  ["half a surrogate pair as id", 400, { id: "17\udfff" }],
  ["a number as service URL", 400, { serviceUrl: 5 }],
  ["an object as service URL", 400, { serviceUrl: {} }],
  ["no service URL", 400, { serviceUrl: undefined }],
  ["a number as text", 400, { text: 5 }],
  ["a string as entities", 400, { entities: "x" }],
  ["an object as sender's id", 400, { from: { id: {} } }],
  ["a thousand attachments", 400, { attachments: Array(1_000).fill({}) }],
  ["no sender", 202, { from: undefined }],
  ["null as sender", 202, { from: null }],
  ["a sender without an object id", 202, { from: { id: "29:x" } }],
  ["an invalid object id", 202, { from: { id: "29:x", aadObjectId: "bea" } }],
  ["an object id with a line break", 202, { from: { id: "29:x", aadObjectId: "a\nb" } }],
  ["null as text", 202, { text: null }],
  ["an empty text", 202, { text: "" }],
  ["an unknown type", 202, { type: "shrug" }],
  ["typing", 202, { type: "typing" }],
  ["an unknown kind of conversation", 202, { conversation: { id: "a:1", conversationType: "x" } }],
  ["an unknown invoke", 501, { type: "invoke", name: "evil/invoke" }],
  ["an invoke of an unknown user", 501, {
    type: "invoke",
    name: "adaptiveCard/action",
    from: { id: "29:x" },
  }],
  ["a known invoke", 200, { type: "invoke", name: "message/submitAction", value: {} }],
];

for (const [name, status, given, post] of ROWS) {
  test(`a body is answered ${status}: ${name}`, async (at) => {
    const agent = await at.agent();
    const token = `Bearer ${await at.kit.keys.token(at.kit.serviceUrl)}`;
    const activity = typeof given === "string" ? undefined : at.message("hello", given);
    const answer = await at.post(activity, {
      authorization: token,
      raw: typeof given === "string" ? given : JSON.stringify(activity),
      ...post,
    });
    assert.equal(answer.status, status, answer.text);
    assert.equal(agent.frames.filter(({ type }) => type === "turn").length, 0);
  }, { env: { TEAMS_APP_TENANT_ID: "" } });
}

test("other paths and methods are refused, also through a proxy", async (at) => {
  const ask = async (method: string, path: string, headers = {}) => {
    const url = at.url.replace("/api/messages", path);
    const response = await at.withoutClock(fetch(url, { method, headers }));
    await at.withoutClock(response.text());
    return response.status;
  };
  const proxied = { "x-forwarded-for": "1.2.3.4" };
  assert.equal(await ask("GET", "/api/messages"), 405);
  assert.equal(await ask("HEAD", "/api/messages"), 405);
  assert.equal(await ask("DELETE", "/api/messages"), 405);
  assert.equal(await ask("POST", "/api/messages/"), 404);
  assert.equal(await ask("POST", "/api/messages/x"), 404);
  assert.equal(await ask("GET", "/"), 404);
  assert.equal(await ask("GET", "/register"), 404);
  assert.equal(await ask("GET", "/healthz"), 200);
  assert.equal(await ask("GET", "/metrics"), 200);
  assert.equal(await ask("GET", "/healthz", proxied), 404);
  assert.equal(await ask("GET", "/metrics", proxied), 404);
});

test("a full disk is answered 503; with space the delivery is accepted", async (at) => {
  const message = at.message("hello");
  at.fill(true);
  const refused = await at.post(message);
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "5"]);
  at.fill(false);
  assert.equal((await at.post(message)).status, 202);
  const agent = await at.agent();
  assert.equal((await at.withoutClock(agent.begin())).text, "hello");
});

test("a full queue of one owner is answered 429, and no other owner is affected", async (at) => {
  for (let n = 0; n < 64; n++) assert.equal((await at.post(at.message(`${n}`))).status, 202);
  assert.equal((await at.post(at.message("one more"))).status, 429);
  const from = { id: "29:cal", aadObjectId: "00000000-0000-4000-8000-0000000000ca" };
  const conversation = { id: "a:cal", conversationType: "personal" };
  assert.equal((await at.post(at.message("cal's", { from, conversation }))).status, 202);
});
