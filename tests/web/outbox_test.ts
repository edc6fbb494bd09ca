/**
 * Drafts and messages, in Chromium against a real gateway: a message arrives once, even if it waits
 * for the connection, loses its response or is refused first.
 *
 * @module
 */

import assert from "node:assert/strict";
import { untilCount, untilValue } from "tests/support/page_waits.ts";
import { playFleet } from "tests/support/page_story.ts";
import { composer, pageStories, send } from "tests/web/stories.ts";

const story = pageStories();

story("a draft survives a reload, and a message written offline arrives once", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await composer(page).fill("half a thou");
  await page.reload();
  await page.getByText("Hello, I am Ada.").waitFor();
  await untilValue(composer(page), "half a thou");
  scene.network.refuse(true);
  scene.network.cut();
  await page.locator(".pill").waitFor();
  await send(page, "a whole thought");
  await page.getByText("queued until the connection returns").waitFor();
  await untilValue(composer(page), "");
  scene.network.refuse(false);
  await page.getByRole("button", { name: "Retry now" }).click();
  const { text } = await ada.takeTurn();
  assert.equal(text, "a whole thought");
  await page.locator(".ask", { hasText: "a whole thought" }).waitFor();
  await page.locator(".queue-row").waitFor({ state: "detached" });
  assert.equal(ada.client.frames.filter(({ type }) => type === "turn").length, 1);
});

story("an answer that is lost leaves a message unconfirmed, and it arrives once", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await page.getByText("Hello, I am Ada.").waitFor();
  let isFirst = true;
  await page.route("**/api/turns", async (route) => {
    if (!isFirst) return await route.continue();
    isFirst = false;
    // The gateway receives it, but the response is lost.
    await route.fetch();
    await route.abort("connectionreset");
  });
  await send(page, "once");
  const { turnId } = await ada.takeTurn();
  await ada.end(turnId);
  await page.locator(".queue-row").waitFor({ state: "detached" });
  await page.locator(".ask", { hasText: "once" }).waitFor();
  await untilCount(page.locator(".ask"), 1);
  assert.equal(ada.client.frames.filter(({ type }) => type === "turn").length, 1);
}, { isTimeReal: true });

story("a refused message shows why, can be sent again and taken back", async (of) => {
  const { scene, page } = of;
  await playFleet(scene);
  await page.goto(scene.url);
  await page.getByText("Hello, I am Ada.").waitFor();
  await page.route("**/api/turns", (route) =>
    route.fulfill({
      status: 409,
      contentType: "application/problem+json",
      body: JSON.stringify({ code: "x", detail: "Cannot queue the turn: no room" }),
    }));
  await send(page, "no luck");
  await page.getByText("Cannot queue the turn: no room").waitFor();
  await page.getByRole("button", { name: "Retry" }).click();
  await page.getByText("Cannot queue the turn: no room").waitFor();
  await page.reload();
  await page.getByText("Cannot queue the turn: no room").waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  await untilValue(composer(page), "no luck");
  await untilCount(page.locator(".queue-row"), 0);
});

story("what is typed right after sending is there after a reload", async ({ scene, page }) => {
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await composer(page).fill("first");
  // In one script, before the message can reach the disk.
  await page.evaluate(`(() => {
    const area = document.getElementById("composer");
    area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    area.value = "second";
    area.dispatchEvent(new Event("input", { bubbles: true }));
  })()`);
  assert.equal((await ada.takeTurn()).text, "first");
  await untilValue(composer(page), "second");
  await page.reload();
  await page.locator(".ask", { hasText: "first" }).waitFor();
  await untilValue(composer(page), "second");
});
