/**
 * The text that the agent reads of a message: payloads as the platform's clients send them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type Activity, parseActivity } from "core/teamchat/activity.ts";
import { isMentioned, messageText } from "core/teamchat/message_text.ts";
import { cpuMs } from "tests/support/cpu_time.ts";

const APP = "00000000-0000-4000-8000-00000000000a";
const BOT = { id: `28:${APP}`, name: "Agent" };

function message(more: Readonly<Record<string, unknown>>): Activity {
  const parsed = parseActivity(
    JSON.stringify({
      type: "message",
      id: "1700000000000",
      channelId: "msteams",
      serviceUrl: "https://smba.trafficmanager.net/emea/",
      from: { id: "29:1", name: "Owner" },
      recipient: BOT,
      conversation: { id: "a:1", conversationType: "personal" },
      textFormat: "plain",
      ...more,
    }),
  );
  if (!parsed.ok) throw new Error(parsed.error.message);
  return parsed.value;
}

function mention(id: string, text: string) {
  return { type: "mention", mentioned: { id, name: text.replace(/<[^>]*>/g, "") }, text };
}

const OWN = mention(BOT.id, "<at>Agent</at>");
/** A reply as the desktop client sends it: the text contains only the reply. */
const REPLY = '<blockquote itemscope="" itemtype="http://schema.skype.com/Reply" ' +
  'itemid="1625136000000">\r\n<strong itemprop="mri" itemid="8:orgid:1">Ann &amp; Bob</strong>' +
  '<span itemprop="time" itemid="1625136000000"></span>\r\n' +
  '<p itemprop="preview">First&nbsp;line<br>second <b>line</b></p>\r\n</blockquote>\r\n' +
  "<p>Yes, do it</p>";

const ROWS: readonly (readonly [string, Readonly<Record<string, unknown>>, string])[] = [
  ["plain words", { text: "hello" }, "hello"],
  ["the bot's mention", { text: "<at>Agent</at> hello", entities: [OWN] }, "hello"],
  ["a no-break space after the mention", {
    text: "<at>Agent</at>&nbsp;hello",
    entities: [OWN],
  }, "hello"],
  ["a mention in the middle", { text: "so <at>Agent</at> go", entities: [OWN] }, "so   go"],
  ["another person's mention", {
    text: "<at>Agent</at> ask <at>Ann</at>",
    entities: [OWN, mention("29:ann", "<at>Ann</at>")],
  }, "ask Ann"],
  ["a person with the bot's name, after it", {
    text: "<at>Agent</at> ask <at>Agent</at>",
    entities: [OWN, mention("29:other", "<at>Agent</at>")],
  }, "ask Agent"],
  ["a person with the bot's name, before it", {
    text: "<at>Agent</at> says <at>Agent</at> go",
    entities: [mention("29:other", "<at>Agent</at>"), OWN],
  }, "Agent says   go"],
  ["a tag without an entity is plain text", { text: "<at>Agent</at> hello" }, "Agent hello"],
  [
    "the bot's name without a tag is plain text",
    { text: "Agent hello", entities: [OWN] },
    "Agent hello",
  ],
  ["an entity whose text has no tag", {
    text: "@Agent tell @Agent",
    entities: [mention(BOT.id, "@Agent")],
  }, "tell @Agent"],
  ["the application id alone", {
    text: "<at>Agent</at> hi",
    entities: [mention(APP, "<at>Agent</at>")],
  }, "hi"],
  ["numbered mentions", {
    text: '<at id="0">Agent</at> and <at id="1">Ann</at>',
    entities: [mention(BOT.id, '<at id="0">Agent</at>'), mention("29:a", '<at id="1">Ann</at>')],
  }, "and Ann"],
  ["character references", { text: "a &lt;b&gt; &amp; &#39;c&#39; &#x1F642;" }, "a <b> & 'c' 🙂"],
  ["rich text", { text: "<p>one</p>", textFormat: "xml" }, "one"],
  ["a rich-text copy adds nothing", {
    text: "hello",
    attachments: [{ contentType: "text/html", content: "<p>hello</p>" }],
  }, "hello"],
  ["a quoted message", {
    text: "Yes, do it",
    attachments: [{ contentType: "text/html", content: REPLY }],
  }, "> Ann & Bob wrote:\n> First line\n> second line\n\nYes, do it"],
  ["a quoted message whole", {
    text: "ok",
    attachments: [{
      contentType: "text/html",
      content: REPLY.replace('"preview"', '"copy"').replaceAll('"', "'"),
    }],
  }, "> Ann & Bob wrote:\n> First line\n> second line\n\nok"],
  ["a quoted message without an author", {
    text: "ok",
    attachments: [{
      contentType: "text/html",
      content: '<blockquote itemtype="http://schema.skype.com/Reply">so it was</blockquote>',
    }],
  }, "> so it was\n\nok"],
  ["a quote of the owner's own is in the text", {
    text: "ok",
    attachments: [{ contentType: "text/html", content: "<blockquote>mine</blockquote>" }],
  }, "ok"],
  ["two quoted messages", {
    text: "both",
    attachments: [{ contentType: "text/html", content: REPLY + REPLY }],
  }, `${"> Ann & Bob wrote:\n> First line\n> second line\n\n".repeat(2)}both`],
  ["a quoted message as an entity", {
    text: '<quoted messageId="1625"/> and now?',
    entities: [{
      type: "quotedReply",
      quotedReply: { messageId: "1625", senderName: "Ann\nBob", preview: "it &lt;is&gt; done" },
    }],
  }, "> Ann Bob wrote:\n> it <is> done\n\nand now?"],
  ["a quoted message that was deleted", {
    text: "why?",
    entities: [{ type: "quotedReply", quotedReply: { isReplyDeleted: true, preview: "secret" } }],
  }, "> (a message that was deleted)\n\nwhy?"],
  ["invalid entities", {
    text: "hi",
    entities: [
      { type: "mention" },
      { type: "mention", mentioned: null, text: 5 },
      { type: "quotedReply", quotedReply: "x" },
      { type: "quotedReply", quotedReply: { preview: 7 } },
    ],
  }, "hi"],
];

for (const [name, more, want] of ROWS) {
  Deno.test(`messageText() of ${name}`, () => {
    assert.equal(messageText(message(more), APP), want);
  });
}

Deno.test("isMentioned() goes by the entity's id, not by the name", () => {
  const is = (more: Readonly<Record<string, unknown>>) => isMentioned(message(more), APP);
  assert.ok(is({ text: "<at>Agent</at>", entities: [OWN] }));
  assert.ok(!is({ text: "<at>Agent</at>" }));
  assert.ok(
    !is({
      text: "<at>Agent</at>",
      entities: [mention("29:other", "<at>Agent</at>")],
    }),
  );
  assert.ok(
    !isMentioned(
      message({ entities: [mention("28:undefined", "<at>x</at>")] }),
      undefined,
    ),
  );
});

Deno.test("messageText() of a hostile text ends soon", () => {
  for (const piece of ["<at>", "<", "<at ", "&", "<quoted "]) {
    const text = piece.repeat(Math.floor(200_000 / piece.length));
    const html = `${'<blockquote itemtype="http://schema.skype.com/Reply">'}${
      piece.repeat(Math.floor(32_000 / piece.length))
    }`;
    const attachments = [{ contentType: "text/html", content: html }];
    // Quadratic work would take minutes.
    messageText(message({ text, textFormat: "xml", attachments }), APP);
  }
});

const quoted = (preview: string) => ({ type: "quotedReply", quotedReply: { preview } });
const html = (content: string) => [{ contentType: "text/html", content }];
const OPEN_REPLY = '<blockquote itemtype="http://schema.skype.com/Reply">';

/** Bodies of the largest size, made of input that is slow for regular expressions. */
const HOSTILE: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "quotes of carriage returns": { entities: Array(4).fill(quoted("\r".repeat(31_000))) },
  "quotes of blanks": { entities: Array(4).fill(quoted("\u2003".repeat(20_000))) },
  "quotes that never end": { attachments: html("<blockquote>".repeat(2_700)) },
  "paragraphs that never end": {
    attachments: html(OPEN_REPLY + '<p itemprop="copy">'.repeat(1_600)),
  },
  "names that never end": {
    attachments: html(OPEN_REPLY + '<strong itemprop="mri">'.repeat(1_300)),
  },
  "mentions of no one": {
    text: "<at>x</at>".repeat(20_000),
    entities: Array(256).fill(mention("29:2", "<at>y</at>")),
  },
  "names that almost match": {
    text: "a".repeat(128_000),
    entities: Array(256).fill(mention(BOT.id, `${"a".repeat(400)}b`)),
  },
  "tags that never end": { textFormat: "xml", text: `<${"a".repeat(1_999)}`.repeat(120) },
  "signs that never end": { text: "&#".repeat(100_000) },
};

for (const [name, more] of Object.entries(HOSTILE)) {
  Deno.test(`a message of one owner does not delay the others: ${name}`, () => {
    const hostile = message(more);
    // Linear time takes milliseconds; quadratic time takes seconds.
    assert.ok(cpuMs(() => messageText(hostile, APP)) < 500);
  });
}

Deno.test("messageText() leaves out the blank lines of a quote", () => {
  const entities = [quoted(" a \r\n \n\n b\u2003c\n")];
  assert.equal(messageText(message({ text: "and?", entities }), APP), "> a\n> b\u2003c\n\nand?");
});
