/**
 * What a person sees and does on the page, in Chromium against a real gateway: the start, an answer
 * that streams, Stop, outcomes, older pages. The agents are scripted.
 *
 * @module
 */

import assert from "node:assert/strict";
import { untilCount, untilEqual, untilText } from "tests/support/page_waits.ts";
import type { PageScene } from "tests/support/page_scene.ts";
import { playConversation, playFleet } from "tests/support/page_story.ts";
import { composer, pageStories, send } from "tests/web/stories.ts";

const story = pageStories();

story("a start takes at most 6 requests, 100 kB of script and 15 kB of style", async (of) => {
  const { scene, watched, page } = of;
  await playConversation(scene);
  const answer = await page.goto(scene.url);
  await page.locator(".outcome").waitFor();
  assert.match(answer?.headers()["content-security-policy"] ?? "", /default-src 'none'/);
  assert.ok(watched.requested.length <= 6, watched.requested.join("\n"));
  const html = await page.content();
  const script = await served(scene, /src="([^"]+\.js)"/.exec(html)?.[1]);
  const style = await served(scene, /href="([^"]+\.css)"/.exec(html)?.[1]);
  assert.ok(script <= 100_000 && style <= 15_000, `gzip: script ${script}, style ${style}`);
});

/** Returns the size of a body in bytes as transferred, compressed; `fetch` would hide it. */
async function served(scene: PageScene, path: string | undefined): Promise<number> {
  const { hostname, port } = new URL(scene.cockpitUrl);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const lines = [`GET ${path} HTTP/1.1`, "host: localhost", "accept-encoding: gzip"];
  const request = [...lines, "connection: close", "", ""].join("\r\n");
  await connection.write(new TextEncoder().encode(request));
  const answer = new Uint8Array(await new Response(connection.readable).arrayBuffer());
  const head = new TextDecoder("latin1").decode(answer).split("\r\n\r\n")[0] ?? "";
  assert.match(head, /^HTTP\/1.1 200/);
  assert.match(head, /content-encoding: gzip/i);
  return answer.length - head.length - 4;
}

story("a prompt is clicked, the answer streams, and the whole message replaces it", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await page.getByRole("button", { name: "last commit of this project" }).click();
  const turn = await ada.takeTurn();
  assert.equal(turn.text, "last commit of this project");
  await page.getByRole("status").getByText("ada is working").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Stop" }).waitFor();
  ada.preview(turn.turnId, "m", "It is **ab", 0);
  await page.locator(".is-live", { hasText: "It is **ab" }).waitFor();
  await untilCount(page.locator("article[aria-busy=true]"), 1);
  ada.preview(turn.turnId, "m", "c**", 10);
  await page.locator(".is-live strong", { hasText: "abc" }).waitFor();
  await ada.say(turn.turnId, "It is **abc**, by Mia. That is all.", "m");
  await page.locator(".prose:not(.is-live)", { hasText: "by Mia" }).waitFor();
  await untilCount(page.locator(".is-live"), 0);
  await ada.end(turn.turnId);
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  const reply = page.getByRole("status").getByText("ada: It is abc, by Mia.");
  await reply.waitFor({ state: "attached" });
  await untilCount(page.locator("article"), 1);
});

story("Stop cancels the turn that runs", async ({ scene, page }) => {
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await send(page, "work");
  const { turnId } = await ada.takeTurn();
  await page.getByRole("button", { name: "Stop" }).click();
  assert.equal((await ada.client.next("cancel")).turn_id, turnId);
  await ada.end(turnId, "cancelled", { reason: "The owner cancelled it" });
  await page.locator(".outcome", { hasText: "Stopped" }).waitFor();
});

story("every outcome, tool state and cut is shown in words", async ({ scene, page }) => {
  const ada = await playFleet(scene);
  await scene.ask("ada", "one");
  const { turnId } = await ada.takeTurn();
  await ada.call(turnId, {
    tool: "bash",
    arguments: { command: "cat big" },
    result: "x".repeat(20_000),
    cutBytes: 3_000_000,
  });
  await ada.emit("notice", { text: "This is the demo model" }, { turnId });
  await ada.end(turnId, "interrupted", { code: "dial-restarted", reason: "It was restarted" });
  await page.goto(scene.url);
  await page.getByText("Interrupted").waitFor();
  await page.getByText("This is the demo model").waitFor();
  await page.locator("summary", { hasText: "cat big" }).click();
  await page.getByText("2.9 MiB were cut").waitFor();
  await page.getByRole("button", { name: "Show all 20,000 characters" }).click();
  await untilText(page.locator("pre", { hasText: "xxx" }), /^.{20000}$/);
});

story("another owner's agent shows a refusal, and the others still work", async (of) => {
  const { scene, page } = of;
  await playFleet(scene);
  await page.goto(`${scene.url}/agents/ada`);
  await page.getByText("Cannot show this agent").waitFor();
  await page.locator(".agent-row", { hasText: "bob" }).click();
  await page.getByLabel("Message to bob").waitFor();
  assert.equal(new URL(page.url()).pathname, "/agents/bob");
  await page.goBack();
  await page.getByText("Cannot show this agent").waitFor();
}, { email: "bob@example.org" });

/** Limit of animation frames for loading an older page. */
const FRAMES_MAX = 600;

story("older pages load during scrolling up, and the view stays in place", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  await ada.flood(400, (index) => ["notice", { text: `note ${index}` }]);
  await page.goto(scene.url);
  await page.getByText("note 399", { exact: true }).waitFor();
  for (let note = 349; note > 0; note -= 50) {
    // A page that is still rendering follows its newest end: scroll until it has moved.
    const shown = page.getByText(`note ${note}`, { exact: true });
    for (let frame = 0; frame < FRAMES_MAX && await shown.count() === 0; frame++) {
      await page.evaluate("document.querySelector('.pane').scrollTo(0, 0)");
      await page.evaluate("new Promise((drawn) => requestAnimationFrame(drawn))");
    }
    await shown.waitFor({ state: "attached" });
  }
  await page.getByRole("button", { name: "Newest" }).click();
  await page.getByText("note 399", { exact: true }).waitFor();
  const notes = await page.locator(".notice").allInnerTexts();
  assert.equal(new Set(notes).size, notes.length);
});

story("code is copied also where the browser has no clipboard for a page", async (of) => {
  const { scene, page } = of;
  await playConversation(scene);
  await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
  await page.goto(scene.url);
  await page.getByRole("button", { name: "Copy" }).first().click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  await composer(page).focus();
  await page.keyboard.press("Control+v");
  const isPasted = async () =>
    (await composer(page).inputValue()).startsWith("git show --stat 4f1");
  await untilEqual(page, isPasted, true);
});
