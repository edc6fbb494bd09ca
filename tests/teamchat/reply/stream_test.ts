/**
 * What the owner sees while an answer is written: progress lines, chunks at the platform's pace
 * whatever the agent sends and however fast, and the final text.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  RESET_ASKED,
  teamchatTest,
  type TestAgent,
  type TestTeamchat,
} from "tests/teamchat/fixture.ts";
import { APP_SECRET } from "tests/teamchat/connector/kit.ts";

interface Begun {
  readonly at: TestTeamchat;
  readonly agent: TestAgent;
  readonly turnId: string;
}

/** Registers a test with a started turn and an open stream. The platform has a separate clock. */
function test(name: string, fn: (begun: Begun) => Promise<void>): void {
  teamchatTest(name, async (at) => {
    const agent = await at.agent();
    await at.post(at.message("go"));
    const { turnId } = await at.withoutClock(agent.begin());
    await at.until(() => roomOf(at).streams.length === 1);
    await fn({ at, agent, turnId });
  }, { platformClock: "own" });
}

const roomOf = (at: TestTeamchat) => at.kit.conversation("a:bea");
const linesOf = (at: TestTeamchat) =>
  at.kit.calls.filter(({ kind }) => kind === "informative").map(({ body }) => body.text);
const textsOf = (at: TestTeamchat) => roomOf(at).messages.map(({ text }) => text);

/** Ends the turn with a message; returns the outcome that the agent receives. */
async function finish({ at, agent, turnId }: Begun, text: string): Promise<string> {
  agent.answer(turnId, text);
  let shown = "";
  void agent.next("delivery").then(({ outcome }) => shown = String(outcome));
  await at.until(() => shown !== "");
  return shown;
}

test("progress lines show what the agent is doing until there is text", async (begun) => {
  const { at, agent, turnId } = begun;
  assert.deepEqual(linesOf(at), ["Working on it…"]);
  agent.event("tool_call", turnId, {
    call_id: "c1",
    mcp: "git",
    tool: "git_log",
    arguments: {},
  });
  await at.until(() => linesOf(at).includes("Using git_log…"));
  agent.event("approval_asked", turnId, { ...RESET_ASKED, arguments: {}, is_destructive: false });
  await at.until(() => linesOf(at).includes("Waiting for your decision…"));
  agent.delta(turnId, "Found it. ", 0);
  await at.until(() => roomOf(at).streams[0]?.text === "Found it. ");
  const before = linesOf(at).length;
  agent.event("tool_call", turnId, {
    call_id: "c2",
    mcp: "git",
    tool: "git_show",
    arguments: {},
  });
  await at.clock.advance(10_000);
  assert.equal(linesOf(at).length, before, "a line took the place of the answer's words");
  assert.equal(await finish(begun, "Found it. And more."), "delivered");
});

test("a tool's name in a progress line stays a name, whatever it contains", async (begun) => {
  const { at, agent, turnId } = begun;
  const tool = `<at>Ann</at>\n[x](https://evil.test) ${"y".repeat(2_000)}`;
  agent.event("tool_call", turnId, { call_id: "c1", mcp: "git", tool, arguments: {} });
  await at.until(() => linesOf(at).length === 2);
  const line = String(linesOf(at)[1]);
  assert.match(line, /^Using [\w .:-]{1,80}…$/);
  assert.equal(await finish(begun, "done"), "delivered");
});

test("a thousand tokens a second are one request a second", async (begun) => {
  const { at, agent, turnId } = begun;
  let text = "";
  for (let tenth = 0; tenth < 100; tenth++) {
    for (let n = 0; n < 100; n++) {
      const token = n % 8 === 0 ? " " : "t";
      agent.delta(turnId, token, text.length);
      text += token;
    }
    await at.clock.advance(100);
  }
  const times = at.kit.calls.map((call) => call.at);
  const gaps = times.slice(1).map((time, n) => time - (times[n] ?? 0));
  assert.ok(times.length > 3 && Math.min(...gaps) >= 1_000, `${times.length}: ${gaps.join(" ")}`);
  assert.equal(await finish(begun, text), "delivered");
});

test("an answer that retracts text is complete at the end, and shown once", async (begun) => {
  const { at, agent, turnId } = begun;
  agent.delta(turnId, "The answer is 41. ", 0);
  await at.until(() => roomOf(at).streams[0]?.text === "The answer is 41. ");
  assert.equal(await finish(begun, "I was wrong: it is 42."), "delivered");
  // A stream cannot take back text that was shown: the final message replaces it.
  assert.deepEqual(textsOf(at), ["I was wrong: it is 42."]);
});

for (const [name, text] of Object.entries({ "empty": "", "blanks": " \n\t " })) {
  test(`an empty answer is reported as empty: ${name}`, async (begun) => {
    assert.equal(await finish(begun, text), "delivered");
    assert.deepEqual(textsOf(begun.at), ["The agent finished without writing anything."]);
  });
}

const rows = Array.from({ length: 400 }, (_, n) => `| ${n} | ${"word ".repeat(20)}|`).join("\n");
/** Long answers, and a pattern for the parts that must survive when each is split. */
const LONG: Readonly<Record<string, readonly [string, RegExp]>> = {
  "200 KB of words": [Array.from({ length: 34_000 }, (_, n) => `w${n}`).join(" "), /w\d+/g],
  "a table": [`| n | words |\n|---|---|\n${rows}\n`, /^\| \d+ \|/gm],
  "pairs of surrogates": ["🙂".repeat(9_000), /🙂/gu],
};
for (const [name, [text, pattern]] of Object.entries(LONG)) {
  test(`a long answer arrives complete, in pieces that are text: ${name}`, async (begun) => {
    assert.equal(await finish(begun, text), "delivered");
    const pieces = textsOf(begun.at);
    assert.ok(pieces.length > 1);
    assert.ok(pieces.every((piece) => piece.length <= 4_000 && piece.isWellFormed()));
    assert.deepEqual(pieces.join("\n").match(pattern), text.match(pattern));
  });
}

for (
  const [name, ms] of Object.entries({ "ten minutes ahead": 600_000, "ten minutes back": -600_000 })
) {
  test(`a clock that is set loses no answer: ${name}`, async (begun) => {
    const { at, agent, turnId } = begun;
    agent.delta(turnId, "One. ", 0);
    await at.until(() => roomOf(at).streams[0]?.text === "One. ");
    at.clock.setNow(at.clock.now() + ms);
    agent.delta(turnId, "Two. ", 5);
    await at.until(() => roomOf(at).streams[0]?.text === "One. Two. ");
    assert.equal(await finish(begun, "One. Two. Three."), "delivered");
    assert.deepEqual(textsOf(at), ["One. Two. Three."]);
    // A clock that is late finds the platform's tokens not yet valid, and refuses them.
    assert.equal((await at.post(at.message("next"))).status, ms > 0 ? 202 : 401);
  });
}

test("neither secret nor token is in a log, health, metrics or an answer", async (begun) => {
  const { at } = begun;
  assert.equal(await finish(begun, "done"), "delivered");
  const token = await at.kit.keys.token(at.kit.serviceUrl);
  const refused = await at.post(at.message("x"), { authorization: `Bearer ${token}x` });
  const pages = await Promise.all(["healthz", "metrics"].map(async (page) => {
    const response = await at.withoutClock(fetch(at.url.replace("api/messages", page)));
    return await at.withoutClock(response.text());
  }));
  const texts = [JSON.stringify(at.host.log.lines), refused.text, ...pages].join("\n");
  for (const secret of [APP_SECRET, "app-1-", token.slice(0, 20), token.slice(-20)]) {
    assert.ok(!texts.includes(secret), `${secret.slice(0, 6)}… is told`);
  }
});
