/**
 * A page loses its network or its session while agents talk, in Chromium against a real gateway:
 * afterwards it shows everything once, in order.
 *
 * @module
 */

import assert from "node:assert/strict";
import { untilCount, untilTexts } from "tests/support/page_waits.ts";
import { playFleet } from "tests/support/page_story.ts";
import { pageStories, send } from "tests/web/stories.ts";

/** FLEETCTL_ROUNDS overrides the number. */
const CUTS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "20");

const story = pageStories();

story("the network is cut in mid-answer, and the whole answer is there once", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await send(page, "tell me");
  const { turnId } = await ada.takeTurn();
  ada.preview(turnId, "m", "The answer ", 0);
  await page.locator(".is-live", { hasText: "The answer" }).waitFor();
  scene.network.refuse(true);
  scene.network.cut();
  await page.getByText(/No connection. Next try in \d+ s|Reconnecting/).waitFor();
  await ada.call(turnId, { tool: "bash", arguments: { command: "sleep 1" }, result: "ok" });
  await ada.say(turnId, "The answer is 42.", "m");
  await ada.end(turnId);
  assert.ok(await page.locator(".is-live").isVisible(), "what was there stays");
  scene.network.refuse(false);
  await page.getByRole("button", { name: "Retry now" }).click();
  await page.locator(".prose", { hasText: "The answer is 42." }).waitFor();
  await page.locator(".pill").waitFor({ state: "detached" });
  await untilCount(page.locator(".prose"), 1);
  await untilCount(page.locator(".tool"), 1);
  await untilCount(page.locator("article"), 1);
}, { isTimeReal: true });

story(`${CUTS} cuts while an agent talks lose nothing and duplicate nothing`, async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await send(page, "count");
  const { turnId } = await ada.takeTurn();
  for (let round = 1; round <= CUTS; round++) {
    await ada.say(turnId, `line ${round}.`);
    scene.network.cut();
    await ada.say(turnId, `after ${round}.`);
    // The page reconnects by itself; this skips the longer delays of the back-off.
    await page.evaluate("dispatchEvent(new Event('online'))");
  }
  await ada.end(turnId);
  await page.locator(".prose", { hasText: `after ${CUTS}.` }).waitFor();
  const wanted = Array.from({ length: CUTS }, (_, i) => [`line ${i + 1}.`, `after ${i + 1}.`])
    .flat();
  await untilTexts(page.locator(".prose"), wanted);
}, { isTimeReal: true });

story("a page that is too far behind is notified, and shows the newest once", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await page.getByText("Hello, I am Ada.").waitFor();
  await ada.flood(10, (index) => ["notice", { text: `early ${index}` }]);
  await page.getByText("early 9", { exact: true }).waitFor();
  scene.network.refuse(true);
  scene.network.cut();
  await page.locator(".pill").waitFor();
  // More events than the gateway resends to a client that reconnects.
  await ada.flood(10_050, (index) => ["notice", { text: `late ${index}` }]);
  const lagged = page.waitForResponse((answer) => /\/api\/transcript\?/.test(answer.url()));
  scene.network.refuse(false);
  // If the page has already reconnected by itself, this does nothing.
  await page.evaluate("dispatchEvent(new Event('online'))");
  await lagged;
  await page.getByText("late 10049", { exact: true }).waitFor();
  await page.evaluate("document.querySelector('.pane').scrollTo(0, 0)");
  await page.getByText("late 9950", { exact: true }).waitFor({ state: "attached" });
  await ada.emit("notice", { text: "after all" });
  await page.getByRole("button", { name: "Newest" }).click();
  await page.getByText("after all", { exact: true }).waitFor();
  const notes = await page.locator(".notice").allInnerTexts();
  assert.equal(new Set(notes).size, notes.length);
}, { isTimeReal: true });

story("an ended session asks to sign in, and keeps what was typed", async ({ scene, page }) => {
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await page.getByText("Hello, I am Ada.").waitFor();
  scene.signOut(true);
  scene.network.cut();
  await page.locator(".pill", { hasText: "You are signed out" }).waitFor();
  await send(page, "kept");
  // Before the draft is removed, a reload would restore it in the composer and send nothing.
  await page.waitForFunction("localStorage.getItem('fleetctl:draft:ada:ada@example.org') === null");
  scene.signOut(false);
  await page.reload();
  assert.equal((await ada.takeTurn()).text, "kept");
});
