/**
 * A tab that is killed at any moment while one writes and sends: what was typed or sent is there
 * again, and the agent gets each message once. 20 rounds; FLEETCTL_ROUNDS says otherwise.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { BrowserContext } from "playwright-core";
import { playFleet } from "tests/support/page_story.ts";
import { pageStories } from "tests/web/stories.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "20");

/** Opens the page again and brings the message on its way, if it is not. */
async function recover(context: BrowserContext, url: string, text: string): Promise<void> {
  const page = await context.newPage();
  await page.goto(url);
  const composer = page.getByLabel("Message to ada");
  await composer.waitFor();
  await page.locator(".agent-row").nth(2).waitFor();
  // It is in the composer, on its way, or in the transcript: exactly one of them.
  const place = page.locator(".ask-text, .queue-text", { hasText: text });
  for (;;) {
    if (await composer.inputValue() === text) {
      await composer.press("Enter");
      break;
    }
    if (await place.count() > 0) break;
    await page.evaluate("new Promise(requestAnimationFrame)");
  }
  await page.locator(".ask-text", { hasText: text }).waitFor();
  await page.close();
}

const story = pageStories();

story(
  `a tab killed at ${ROUNDS} moments loses no text, and each message arrives once`,
  async ({ scene, watched }) => {
    const { context } = watched;
    const ada = await playFleet(scene);
    const written: string[] = [];
    const taken: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const page = await context.newPage();
      await page.goto(scene.url);
      const composer = page.getByLabel("Message to ada");
      await composer.waitFor();
      const text = `message ${round}.`;
      await composer.fill(text);
      written.push(text);
      if (round % 4 === 1) scene.network.refuse(true);
      if (round % 4 === 2) scene.network.cutNextAfter(400 + round * 37);
      const killer = await context.newCDPSession(page);
      const crashed = page.waitForEvent("crash");
      // Sent and killed without waiting for anything: the moments spread over all of the way.
      void composer.press("Enter").catch(() => {});
      await page.evaluate(`new Promise((done) => setTimeout(done, ${(round * 7) % 60}))`);
      // A page that is gone answers nothing any more.
      void killer.send("Page.crash").catch(() => {});
      await crashed;
      void page.close().catch(() => {});
      scene.network.refuse(false);
      await recover(context, scene.url, text);
      const turn = await ada.takeTurn();
      taken.push(turn.text);
      await ada.end(turn.turnId);
    }
    assert.deepEqual(taken, written);
    assert.equal(ada.client.frames.filter(({ type }) => type === "turn").length, ROUNDS);
  },
  { isTimeReal: true },
);
