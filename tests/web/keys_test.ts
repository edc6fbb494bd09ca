/**
 * Navigation in the page, in Chromium against a real gateway: keys, the palette, the theme, a
 * phone.
 *
 * @module
 */

import assert from "node:assert/strict";
import { untilPage, untilText, untilValue } from "tests/support/page_waits.ts";
import { PHONE } from "tests/support/browser.ts";
import { playConversation, playFleet } from "tests/support/page_story.ts";
import { composer, pageStories } from "tests/web/stories.ts";

const story = pageStories();

story("keys: messages, composer, help, list", async ({ scene, page }) => {
  await playConversation(scene);
  await page.goto(scene.url);
  await page.locator(".outcome").waitFor();
  const focused = "document.activeElement.getAttribute('aria-label')";
  const onTests = `/^Run the tests/.test(${focused})`;
  await page.keyboard.press("Escape");
  await page.keyboard.press("k");
  await untilPage(page, onTests, true);
  await page.keyboard.press("k");
  await untilPage(page, focused, "last commit of this project");
  await page.keyboard.press("j");
  await untilPage(page, onTests, true);
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Help" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  // The focus returns to where it was.
  await untilPage(page, onTests, true);
  await page.keyboard.press("/");
  await untilPage(page, "document.activeElement.id", "composer");
  await page.keyboard.type("/jk?");
  await untilValue(composer(page), "/jk?");
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await untilPage(page, "document.activeElement.getAttribute('href')", "/agents/ada");
});

story("the palette finds agents and actions, by keyboard and by pointer", async (of) => {
  const { scene, page } = of;
  await playFleet(scene);
  await page.goto(scene.url);
  await composer(page).fill("half a thou");
  const field = page.getByRole("combobox", { name: "Agent or action" });
  await page.keyboard.press("Control+k");
  await field.waitFor();
  await untilText(page.getByRole("option", { selected: true }), /^ada\s+idle$/);
  await page.keyboard.type("bo");
  await page.getByRole("option").nth(1).waitFor({ state: "detached" });
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "bob", level: 1 }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("Control+k");
  await page.keyboard.type("nothing of that name");
  await page.getByText("No matches").waitFor();
  await page.keyboard.press("Enter");
  await field.fill("");
  await page.keyboard.press("ArrowUp");
  await untilText(page.getByRole("option", { selected: true }), /^Help and keys/);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
  await untilValue(composer(page), "half a thou");
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: /^Model of ada/ }).click();
  await page.getByRole("dialog", { name: "Connect a real model" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

story("the theme is kept on the device", async ({ scene, page }) => {
  await playFleet(scene);
  await page.goto(scene.url);
  const ground = "getComputedStyle(document.body).backgroundColor";
  await page.getByRole("button", { name: /^Theme: same as the device/ }).click();
  await page.getByRole("button", { name: /^Theme: light/ }).click();
  await page.getByRole("button", { name: /^Theme: dark/ }).waitFor();
  const dark = await page.evaluate(ground);
  await page.reload();
  await page.getByRole("button", { name: /^Theme: dark/ }).waitFor();
  await untilPage(page, ground, dark);
  assert.equal(dark, "rgb(22, 22, 20)");
});

story(
  "on a phone one pane is shown at a time, and Enter begins a new line",
  async ({ scene, page }) => {
    await playFleet(scene);
    await page.goto(scene.url);
    await page.locator(".agent-row", { hasText: "ada" }).click();
    await composer(page).fill("one");
    await composer(page).press("Enter");
    await untilValue(composer(page), "one\n");
    await page.locator(".side").waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "All agents" }).click();
    await page.locator(".agent-row .tag", { hasText: "draft" }).waitFor();
    await page.locator(".talk").waitFor({ state: "hidden" });
  },
  { viewport: PHONE, hasTouch: true, isMobile: true },
);
