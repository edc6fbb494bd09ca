/**
 * An owner with a thousand pending requests does not delay another owner's single request: at the
 * platform, at the agents, at the files.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createMetrics } from "teamchat/metrics.ts";
import { createConnector } from "teamchat/reply/connector.ts";
import type { ReplyContext } from "teamchat/store/turn.ts";
import { fakeClock, settle } from "tests/fakes/clock.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { CAL_OWNER, teamchatTest as test } from "tests/teamchat/fixture.ts";

const FROM_CAL = {
  from: { id: "29:cal-owner", aadObjectId: CAL_OWNER },
  conversation: { id: "a:cal", conversationType: "personal" },
};

Deno.test("a thousand waiting requests of one owner delay another's by one request", async () => {
  const clock = fakeClock();
  const sent: string[] = [];
  let held: (() => void)[] = [];
  const answerAll = () => {
    const all = held;
    held = [];
    for (const answer of all) answer();
  };
  const connector = createConnector({
    hosts: { mode: "local" },
    tokens: undefined,
    sendsPerSecond: 40,
    clock,
    metrics: createMetrics(),
    log: recordingLog(),
    http: {
      fetch: async (url) => {
        sent.push(decodeURIComponent(new URL(url.toString()).pathname.split("/")[3] ?? ""));
        await new Promise<void>((resolve) => held.push(resolve));
        return Response.json({ id: "m" });
      },
    } as Parameters<typeof createConnector>[0]["http"],
  });
  const call = (owner: string, conversation: string) => {
    const user = { id: owner };
    const site: ReplyContext = {
      base: "http://127.0.0.1:9",
      conversation,
      type: "groupChat",
      bot: { id: "b" },
      user,
    };
    return connector.call({ context: site, method: "POST", body: {}, what: "message" });
  };
  // Each call has its own conversation, so that the platform's pace within one does not delay them.
  const flood = Array.from({ length: 1_000 }, (_, n) => call("29:bea", `bea-${n}`));
  await settle();
  assert.equal(sent.length, 8);
  const other = call("29:cal", "cal");
  await settle();
  assert.equal(sent.at(-1), "cal");
  answerAll();
  assert.equal((await other).kind, "ok");
  let isDone = false;
  void Promise.all(flood).then(() => isDone = true);
  while (!isDone) {
    answerAll();
    await clock.advance(200);
  }
  assert.equal(sent.length, 1_001);
});

test("a full queue of one owner does not delay another's message or answer", async (at) => {
  const posts = Array.from({ length: 300 }, (_, n) => at.post(at.message(`${n}`)));
  const statuses = (await Promise.all(posts)).map(({ status }) => status);
  assert.deepEqual([...new Set(statuses)].sort(), [202, 429]);
  const [bea, cal] = [await at.agent("bea"), await at.agent("cal")];
  await at.withoutClock(bea.begin());
  const begun = at.clock.now();
  assert.equal((await at.post(at.message("cal's", FROM_CAL))).status, 202);
  const { turnId, text } = await at.withoutClock(cal.begin());
  assert.equal(text, "cal's");
  cal.answer(turnId, "for cal");
  await at.until(() => at.kit.conversation("a:cal").messages.length === 1);
  assert.ok(at.clock.now() - begun <= 2_000, `${at.clock.now() - begun} ms of its clock`);
});
