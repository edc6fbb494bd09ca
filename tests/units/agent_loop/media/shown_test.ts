/**
 * Which images the model sees: the oldest are hidden first, and each leaves a text.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Message } from "units/agent_loop/conversation/message.ts";
import { fitHistory, historyTokens } from "units/agent_loop/conversation/window.ts";
import { type MediaRef, mediaTokens } from "units/agent_loop/media/media.ts";
import { mediaOf, showMedia, SHOWN_LIMITS } from "units/agent_loop/media/shown.ts";

type ImageRef = Extract<MediaRef, { kind: "image" }>;

const ALL = { accepts: new Set(["image"] as const), refused: new Set<string>() };

const image = (n: number, more: Partial<ImageRef> = {}): MediaRef => ({
  kind: "image",
  media_type: "image/png",
  sha256: n.toString(16).padStart(64, "0"),
  bytes: 1_000,
  width: 600,
  height: 500,
  ...more,
});

/** A turn that calls a tool once for each image. */
const shots = (media: readonly MediaRef[]): readonly Message[] => [
  { role: "user", text: "look" },
  ...media.flatMap((ref, index): Message[] => [
    {
      role: "assistant",
      parts: [{ type: "call", call_id: `c${index}`, tool: "shot", arguments: {} }],
    },
    {
      role: "tool",
      callId: `c${index}`,
      tool: "shot",
      status: "completed",
      text: "seen\n[image 600×500 PNG, 1 KB]",
      media: [ref],
    },
  ]),
];

const range = (count: number) => Array.from({ length: count }, (_, n) => image(n));

for (const [count, left] of [[0, 0], [1, 1], [20, 20], [21, 11], [30, 20], [31, 11]] as const) {
  Deno.test(`showMedia() shows the newest ${left} of ${count} images`, () => {
    const shown = showMedia(shots(range(count)), ALL);
    assert.deepEqual(mediaOf(shown), range(count).slice(count - left));
    const texts = shown.flatMap((message) => message.role === "tool" ? [message.text] : []);
    assert.equal(texts.filter((text) => text.includes("left out to fit")).length, count - left);
    assert.ok(texts.every((text) => text.split("[image").length === 2), "each is named once");
  });
}

Deno.test("showMedia() keeps the images of a request within its bytes", () => {
  const bytes = SHOWN_LIMITS.bytesMax / 5;
  const messages = shots(Array.from({ length: 12 }, (_, n) => image(n, { bytes })));
  assert.equal(mediaOf(showMedia(messages, ALL)).length, 2);
});

Deno.test("showMedia() hides what the model does not accept", () => {
  const cases = [
    [{ ...ALL, accepts: new Set([]) }, 0, /this model accepts no such content/],
    [{ ...ALL, refused: new Set([image(0).sha256]) }, 1, /the model endpoint refused it/],
  ] as const;
  for (const [rules, left, words] of cases) {
    const shown = showMedia(shots(range(2)), rules);
    assert.equal(mediaOf(shown).length, left);
    assert.match(JSON.stringify(shown), words);
  }
});

Deno.test("fitHistory() hides old images before it shortens a text", () => {
  const messages = shots(range(10));
  const budgetTokens = historyTokens(messages) - 100;
  const fitted = fitHistory(messages, { budgetTokens });
  assert.ok(historyTokens(fitted.messages) <= budgetTokens);
  assert.equal(fitted.shortenedResults, 0);
  assert.equal(fitted.droppedTurns, 0);
  const left = mediaOf(fitted.messages);
  assert.ok(left.length > 0 && left.length < 10);
  assert.deepEqual(left, range(10).slice(-left.length));
});

Deno.test("fitHistory() hides even the newest image if nothing else fits", () => {
  const messages: readonly Message[] = [{ role: "user", text: "look", media: [image(1)] }];
  const fitted = fitHistory(messages, { budgetTokens: mediaTokens(image(1)) });
  assert.deepEqual(mediaOf(fitted.messages), []);
});

Deno.test("fitHistory() keeps the image of a message when it leaves out turns", () => {
  const old = Array.from({ length: 40 }, (): Message[] => [
    { role: "user", text: "q".repeat(600) },
    { role: "assistant", parts: [{ type: "text", text: "a".repeat(600) }] },
  ]).flat();
  const messages: Message[] = [...old, { role: "user", text: "look", media: [image(1)] }];
  const fitted = fitHistory(messages, { budgetTokens: 4_000 });
  assert.ok(fitted.droppedTurns > 0);
  assert.deepEqual(mediaOf(fitted.messages), [image(1)]);
});

Deno.test("mediaTokens() is between a small and a scaled image", () => {
  const cases = [[1, 1, 256], [600, 500, 400], [8_000, 8_000, 4_800]] as const;
  for (const [width, height, tokens] of cases) {
    assert.equal(mediaTokens(image(0, { width, height })), tokens);
  }
});

Deno.test("a PDF counts by its pages, and its text names the file", () => {
  const pdf = {
    kind: "pdf",
    media_type: "application/pdf",
    sha256: "0".repeat(64),
    bytes: 64 * 1024,
    name: "report.pdf",
    path: "/home/ada/report.pdf",
  } as const;
  assert.equal(mediaTokens({ ...pdf, pages: 3 }), 9_000);
  assert.equal(mediaTokens(pdf), 6_000);
  const [shown] = showMedia(
    [{ role: "user", text: "read it", media: [{ ...pdf, pages: 3 }] }],
    ALL,
  );
  assert.ok(shown?.role === "user");
  assert.equal(shown.media, undefined);
  assert.equal(
    shown.text,
    "read it\n[PDF report.pdf, 3 pages, 66 KB: not shown, because this model accepts no such " +
      "content; the file is /home/ada/report.pdf]",
  );
});
