/**
 * Sources of an answer: which become references of the message, and which stay text.
 *
 * @module
 */

import assert from "node:assert/strict";
import { citationsIn, parseCitations, withoutSources } from "teamchat/reply/citations.ts";

const A = "https://docs.example.org/a";

Deno.test("parseCitations() removes the lines that name sources from the text", () => {
  const text = `Water boils [1] and freezes [2].\n\n[1]: ${A} "Boiling"\n[2]: <https://x.test/>\n`;
  assert.deepEqual(parseCitations(text), {
    text: "Water boils [1] and freezes [2].",
    citations: [
      { position: 1, url: A, name: "Boiling", abstract: "docs.example.org/a" },
      { position: 2, url: "https://x.test/", name: "x.test", abstract: "x.test" },
    ],
  });
});

const LONG = "t".repeat(200);
const STAYS: Readonly<Record<string, string>> = {
  "no number in the text": `words\n\n[1]: ${A}`,
  "http": "so [1]\n\n[1]: http://x.test/",
  "another scheme": "so [1]\n\n[1]: javascript:alert(1)",
  "data": "so [1]\n\n[1]: data:text/html,x",
  "a user before the host": "so [1]\n\n[1]: https://bank.test@evil.test/",
  "a number past twenty": `so [21]\n\n[21]: ${A}`,
  "zero": `so [0]\n\n[0]: ${A}`,
  "a word": `so [a]\n\n[a]: ${A}`,
  "words behind it": `so [1]\n\n[1]: ${A} and more`,
  "a code fence": `so [1]\n\n\`\`\`\n[1]: ${A}\n\`\`\``,
  "four spaces": `so [1]\n\n    [1]: ${A}`,
  "an invalid host": "so [1]\n\n[1]: https://[::g]/",
};
for (const [name, text] of Object.entries(STAYS)) {
  Deno.test(`parseCitations() leaves a line unchanged: ${name}`, () => {
    assert.deepEqual(parseCitations(text), { text, citations: [] });
  });
}

Deno.test("parseCitations() stays within the platform's bounds", () => {
  const numbers = Array.from({ length: 30 }, (_, n) => n + 1);
  const text = [
    numbers.map((n) => `[${n}]`).join(" "),
    ...numbers.map((n) => `[${n}]: https://x.test/${LONG} "${"🙂".repeat(200)}"`),
    `[3]: ${A} "second of its number"`,
  ].join("\n");
  const { citations } = parseCitations(text);
  assert.equal(citations.length, 20);
  for (const { name, abstract } of citations) {
    assert.ok(name.length <= 80 && abstract.length <= 160);
    assert.ok(name.isWellFormed() && abstract.isWellFormed());
  }
});

Deno.test("citationsIn() gives a message the sources that it names", () => {
  const { citations } = parseCitations(`[1] [2]\n[1]: ${A}\n[2]: ${A}`);
  assert.deepEqual(citationsIn("only [2]", citations).map(({ position }) => position), [2]);
});

Deno.test("withoutSources() never shows what it would remove later", () => {
  const text = `Water [1], ice [2].\n\n[1]: ${A} "Boiling"\nmore [1]\n[2]: https://x.test/ 'Ice'\n`;
  const whole = parseCitations(text).text;
  for (let length = 0; length <= text.length; length++) {
    const shown = withoutSources(text.slice(0, length)).trimEnd();
    assert.ok(whole.startsWith(shown), `${JSON.stringify(shown)} at ${length}`);
  }
  assert.equal(withoutSources("```\n[1]: x").trimEnd(), "```\n[1]: x");
});
