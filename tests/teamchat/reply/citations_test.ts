/**
 * Sources of an answer in transit: they become references of the message that names them, never
 * text that appears in the stream and disappears again.
 *
 * @module
 */

import assert from "node:assert/strict";
import { teamchatTest as test } from "tests/teamchat/fixture.ts";

interface Root {
  readonly additionalType: readonly string[];
  readonly citation?: readonly { position: number; appearance: Record<string, unknown> }[];
}

function rootOf(body: Readonly<Record<string, unknown>> | undefined): Root | undefined {
  const entities = body?.entities as { type: string }[] | undefined;
  return entities?.find(({ type }) => type === "https://schema.org/Message") as Root | undefined;
}

test("an answer's sources are references of its final message, and labelled", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("why?"));
  const { turnId } = await at.withoutClock(agent.begin());
  const text = 'It boils [1].\n\n[1]: https://docs.example.org/a "Boiling"\n';
  for (let sentLength = 0; sentLength < text.length; sentLength += 7) {
    agent.delta(turnId, text.slice(sentLength, sentLength + 7), sentLength);
    await at.clock.advance(1_600);
  }
  agent.answer(turnId, text);
  const room = at.kit.conversation("a:bea");
  await at.until(() => room.messages.length === 1);
  const [shown] = room.messages;
  assert.equal(shown?.text, "It boils [1].");
  assert.ok(shown.chunks.length > 1);
  assert.ok(shown.chunks.every((chunk) => !chunk.includes("https:")), shown.chunks.join("|"));
  const root = rootOf(shown.body);
  assert.deepEqual(root?.additionalType, ["AIGeneratedContent"]);
  assert.deepEqual(root.citation, [{
    "@type": "Claim",
    position: 1,
    appearance: {
      "@type": "DigitalDocument",
      name: "Boiling",
      url: "https://docs.example.org/a",
      abstract: "docs.example.org/a",
    },
  }]);
});

test("a long answer gives each message the sources that it names", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("why?"));
  const { turnId } = await at.withoutClock(agent.begin());
  const sources = "[1]: https://a.test/ 'A'\n[2]: https://b.test/ 'B'";
  agent.answer(turnId, `One [1] ${"x ".repeat(2_000)}\n\nTwo [2].\n\n${sources}`);
  const room = at.kit.conversation("a:bea");
  let sent = "";
  void agent.next("delivery").then((frame) => sent = String(frame.outcome));
  await at.until(() => sent !== "");
  assert.equal(sent, "delivered");
  const cited = room.messages.map(({ body }) =>
    rootOf(body)?.citation?.map(({ position }) => position)
  );
  assert.deepEqual(cited, [[1], [2]]);
});
