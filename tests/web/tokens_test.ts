/**
 * The line of tokens below a finished turn, at each width of the page.
 *
 * @module
 */

import assert from "node:assert/strict";
import { findings } from "tests/support/axe.ts";
import { untilCount, untilText } from "tests/support/page_waits.ts";
import { turnStories } from "tests/web/stories.ts";

const story = turnStories();

const MODEL = {
  model: "claude-sonnet-4-5",
  input_tokens: 12_480,
  output_tokens: 913,
  cached_read_tokens: 48_200,
  cached_write_tokens: 0,
};

story("the tokens of a turn are shown once it has ended", async ({ page, agent, turnId }) => {
  await agent.say(turnId, "It is done.", "m1");
  await agent.emit("usage", { models: [MODEL] }, { turnId });
  await untilText(page.locator(".prose"), /It is done/);
  assert.equal(await page.locator(".tokens").count(), 0);
  await agent.end(turnId);
  const line = page.locator(".tokens");
  await untilText(line, /^12,480 tokens in · 913 out · 48,200 cached$/);
  assert.equal(await line.getAttribute("title"), "claude-sonnet-4-5");
  for (const width of [390, 768, 1440, 2560]) {
    await page.setViewportSize({ width, height: 844 });
    const box = await line.boundingBox();
    assert.ok(box !== null && box.height < 24 && box.x + box.width <= width, JSON.stringify(box));
  }
  assert.deepEqual(await findings(page), []);
});

story("a turn without a report has no line of tokens", async ({ page, agent, turnId }) => {
  await agent.say(turnId, "It is done.", "m1");
  await agent.end(turnId);
  await untilText(page.locator(".prose"), /It is done/);
  await untilCount(page.locator(".working"), 0);
  assert.equal(await page.locator(".tokens").count(), 0);
});
