/**
 * A tab is killed at any moment while a person writes and sends: the text is restored, and the
 * agent gets each message once. 20 rounds; FLEETCTL_ROUNDS overrides the number.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { BrowserContext } from "playwright-core";
import { playFleet } from "tests/support/page_story.ts";
import { pageStories } from "tests/web/stories.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "20");

/** Opens the page again and sends the message if it is still in the composer. */
async function recover(context: BrowserContext, url: string, text: string): Promise<void> {
  const page = await context.newPage();
  await page.goto(url);
  const composer = page.getByLabel("Message to ada");
  await composer.waitFor();
  await page.locator(".agent-row").nth(2).waitFor();
  // It is in exactly one of the composer, the queue and the transcript.
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
      // Press and kill without waiting: the delays cover every stage.
      void composer.press("Enter").catch(() => {});
      await page.evaluate(`new Promise((done) => setTimeout(done, ${(round * 7) % 60}))`);
      // A crashed page answers no command.
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
