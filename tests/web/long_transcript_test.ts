/**
 * A transcript of 100,000 events, watched from the first to the last: the page stays small and
 * fast.
 *
 * @module
 */

import assert from "node:assert/strict";
import { playFleet } from "tests/support/page_story.ts";
import { pageStories } from "tests/web/stories.ts";

const EVENTS = 100_000;
const HEAP_BYTES_MAX = 150 * 1024 * 1024;

const story = pageStories();

story(
  "with 100,000 events the page stays below 150 MB and responds to keys",
  async ({ scene, watched, page }) => {
    const { context } = watched;
    const ada = await playFleet(scene);
    await page.goto(scene.url);
    await page.getByText("Hello, I am Ada.").waitFor();
    await ada.flood(
      EVENTS,
      (index) => ["notice", { text: `note ${index} ${"word ".repeat(20)}` }],
    );
    await page.locator(".notice", { hasText: `note ${EVENTS - 1} ` }).waitFor({
      timeout: 60_000,
    });
    const devtools = await context.newCDPSession(page);
    await devtools.send("HeapProfiler.collectGarbage");
    const { usedSize } = await devtools.send("Runtime.getHeapUsage");
    assert.ok(usedSize <= HEAP_BYTES_MAX, `${Math.round(usedSize / 1e6)} MB`);
    assert.ok(await page.locator("article").count() <= 2_000);
    await page.getByLabel("Message to ada").fill("still here");
    await page.getByLabel("Message to ada").press("Enter");
    await page.locator(".ask", { hasText: "still here" }).waitFor();
    await page.evaluate("document.querySelector('.pane').scrollTo(0, 0)");
    await page.getByRole("button", { name: "Newest" }).click();
    await page.locator(".ask", { hasText: "still here" }).waitFor();
  },
  { isTimeReal: true },
);
