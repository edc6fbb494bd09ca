/**
 * Untrusted texts: cleaned, parsed to bounded tokens, with only safe links. Also the texts of the
 * list and the pill.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { clean, cleanLine } from "core/text/clean.ts";
import { formatAge, grouped, offlineWords, withCard } from "gateway/web/state/agents.ts";
import { firstSentence } from "gateway/web/state/first_sentence.ts";
import { pillWords, retryDelay } from "gateway/web/state/connection.ts";
import {
  decodeEntities,
  type GrowingMarkdown,
  growMarkdown,
  parseMarkdown,
  safeHref,
} from "gateway/web/state/markdown.ts";
import { cpuMs } from "tests/support/cpu_time.ts";
import {
  type AgentCard,
  parseCard,
  parseEvent,
  parsePage,
  parsePreview,
} from "gateway/web/state/wire.ts";

Deno.test("clean() removes what would control a terminal or deceive a reader", () => {
  assert.equal(
    clean("a\u001b[31mred\u001b[0m\u001b]8;;http://x\u0007link\u001b]8;;\u0007"),
    "aredlink",
  );
  assert.equal(clean("a\u0000b\u0007c\u007f"), "a␀b␇c␡");
  assert.equal(clean("user\u202egnp.exe"), "user⟨U+202E⟩gnp.exe");
  assert.equal(clean("half \ud83d end"), "half \ufffd end");
  assert.equal(clean("a\r\nb\rc\td"), "a\nb\nc\td");
  assert.equal(cleanLine("a\n\n  b"), "a ⏎ b");
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
    assert.doesNotMatch(
      clean(text),
      // deno-lint-ignore no-control-regex -- these characters must be removed
      /[\u0000-\u0008\u000b-\u001f\u007f\u202a-\u202e\u2066-\u2069]/,
    );
    assert.ok(clean(text).isWellFormed());
  }));
});

Deno.test("safeHref() lets http, https and mailto pass and nothing else", () => {
  for (const href of ["http://a.b/c", "https://a.b", "mailto:a@b.c", "HTTPS://a.b"]) {
    assert.ok(safeHref(href), href);
  }
  for (
    const href of [
      "javascript:alert(1)",
      "java\nscript:alert(1)",
      "\u0001javascript:alert(1)",
      "data:text/html,x",
      "//evil.example",
      "/etc",
      "file:///etc",
      "vbscript:x",
      "blob:x",
      "",
      "https:",
      "#a",
      "http:a",
    ]
  ) assert.equal(safeHref(href), undefined, href);
});

Deno.test("decodeEntities() decodes once", () => {
  assert.equal(
    decodeEntities("a &amp; b &lt;i&gt; &#39;&#x27; &amp;lt; &bogus;"),
    "a & b <i> '' &lt; &bogus;",
  );
  assert.equal(decodeEntities("&#0;&#x110000;"), "&#0;&#x110000;");
});

Deno.test("parseMarkdown() returns hostile texts unchanged, in bounded time", () => {
  const hostile = [
    ">".repeat(5_000),
    "[".repeat(20_000),
    "*a_".repeat(20_000),
    "- ".repeat(3_000),
    "`".repeat(30_000),
    "![](".repeat(10_000),
    "<".repeat(60_000),
    "|a".repeat(20_000),
    "x".repeat(1_000_000),
    "a**b".repeat(15_000),
    "[a](<b".repeat(10_000),
    "\\".repeat(60_000),
    "&".repeat(60_000),
    "~".repeat(60_000),
    "_a ".repeat(20_000),
    "http://a".repeat(8_000),
    "a@b.".repeat(15_000),
  ];
  for (const text of hostile) {
    const spent = cpuMs(() => parseMarkdown(text));
    assert.ok(spent < 1_500, `${text.slice(0, 8)}… took ${Math.round(spent)} ms`);
  }
  assert.equal(parseMarkdown("x".repeat(1_000_000)), undefined);
});

Deno.test("growMarkdown() shows the same as the whole text, however it is cut", () => {
  const text =
    "# Head\n\nOne **two**\nthree\n\n- a\n- b\n\n```sh\nls\n\nrm\n```\n\n> q\n\nlast `x`\n";
  const shown = (grown: GrowingMarkdown) =>
    [...grown.blocks.flat(), ...grown.last ?? []].filter(({ type }) => type !== "space")
      .map(({ type, raw }) => [type, raw.trim()]);
  fc.assert(fc.property(fc.array(fc.nat(text.length)), (cuts) => {
    let grown: GrowingMarkdown | undefined;
    for (const cut of [...cuts.sort((a, b) => a - b), text.length]) {
      grown = growMarkdown(grown, text.slice(0, cut));
    }
    assert.deepEqual(shown(grown as GrowingMarkdown), shown(growMarkdown(undefined, text)));
  }));
});

Deno.test("growMarkdown() reads a long text in time that grows with it", () => {
  const paragraph = "Some words that make a paragraph of a usual length.\n\n";
  let grown: GrowingMarkdown | undefined;
  let text = "";
  for (let index = 0; index < 1_000; index++) {
    text += paragraph;
    grown = growMarkdown(grown, text);
  }
  assert.ok(text.length - (grown?.done ?? 0) < 200, "finished blocks are kept");
});

Deno.test("firstSentence() is short and plain", () => {
  assert.equal(firstSentence("**Done.** Next is 3.5 of it."), "Done.");
  assert.equal(firstSentence("```\ncode\n```\nIt works"), "It works");
  assert.ok(firstSentence("x".repeat(1_000)).length <= 201);
});

Deno.test("retryDelay() is between 0.8 and 15 s and varies", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 99 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (n, chance) => {
        const delay = retryDelay(n, chance);
        assert.ok(delay >= 800 && delay <= 15_000);
      },
    ),
  );
  assert.equal(retryDelay(1, 0), 800);
  assert.equal(retryDelay(9, 1), 15_000);
  assert.notEqual(retryDelay(4, 0), retryDelay(4, 1));
});

Deno.test("pillWords() counts down, and is empty while connected", () => {
  assert.equal(pillWords({ kind: "online" }, 0), undefined);
  assert.equal(pillWords({ kind: "connecting" }, 0), undefined);
  assert.match(pillWords({ kind: "waiting", attempt: 1, retryAt: 4_200 }, 1_000) ?? "", /in 4 s/);
  assert.equal(pillWords({ kind: "waiting", attempt: 1, retryAt: 1 }, 9), "Reconnecting…");
  assert.equal(pillWords({ kind: "signed-out" }, 0), "You are signed out");
});

function card(agent: string, state: string, more: Partial<AgentCard> = {}): AgentCard {
  return {
    agent,
    state,
    isOwn: false,
    isOnline: true,
    reason: null,
    since: null,
    host: null,
    lastSeen: null,
    ...more,
  };
}

Deno.test("the list is grouped by attention and ordered by name", () => {
  let cards: readonly AgentCard[] = [];
  const states = ["idle", "failed", "working", "offline", "waiting-approval", "of-the-future"];
  for (const [index, state] of states.entries()) {
    cards = withCard(cards, card(`a${9 - index}`, state));
  }
  cards = withCard(cards, card("a9", "idle", { host: "h" }));
  assert.deepEqual(
    grouped(cards).map(({ group, cards }) => [group, cards.map(({ agent }) => agent)]),
    [
      ["attention", ["a5", "a8"]],
      ["working", ["a7"]],
      ["idle", ["a4", "a9"]],
      ["offline", ["a6"]],
    ],
  );
});

Deno.test("ages are short", () => {
  const at = 1_000_000_000;
  const rows = [[0, "now"], [90, "2 min"], [7_000, "2 h"], [300_000, "3 d"]] as const;
  for (const [seconds, words] of rows) assert.equal(formatAge(at, at + seconds * 1_000), words);
  assert.equal(formatAge(null, at), "");
  const seen = card("a", "offline", { lastSeen: { at, closeCode: 1006 } });
  assert.equal(offlineWords(seen, at + 7_200_000), "last seen 2 h ago, closed with 1006");
});

Deno.test("messages of the gateway are parsed, and any other input is ignored", () => {
  const event = { id: "e:7", agent: "ada", turn_id: null, at: 1, kind: "notice", payload: {} };
  assert.equal(parseEvent(event)?.seq, 7);
  for (const broken of [null, 1, "x", [], {}, { id: "e" }, { id: ":1" }, { id: "e:x" }]) {
    assert.equal(parseEvent(broken), undefined);
    assert.equal(parsePage(broken), undefined);
    assert.equal(parseCard(broken), undefined);
    assert.equal(parsePreview(broken), undefined);
  }
  const page = parsePage({ events: [event, null], before: null, cursor: "e:7" });
  assert.equal(page?.events.length, 1);
  assert.deepEqual(page?.cuts, [], "a gateway of an older version cuts no turn");
  const cut = { turn_id: "t", before: "e:5", counts: { events: 3, calls: 1 } };
  const given = [null, {}, { ...cut, before: "x" }, { ...cut, turn_id: 1 }, cut];
  const cuts = parsePage({ events: [], before: null, cursor: "e:7", cuts: given })?.cuts;
  const counts = { events: 3, calls: 1, messages: 0, notices: 0, failed: 0 };
  assert.deepEqual(cuts, [{ turnId: "t", before: 5, counts }]);
});
