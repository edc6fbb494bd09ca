/**
 * Moving about the page, in Chromium against a real gateway: keys, the palette, the theme, a phone.
 *
 * @module
 */

import assert from "node:assert/strict";
import { PHONE } from "tests/support/browser.ts";
import { playConversation, playFleet } from "tests/support/page_story.ts";
import { composer, pageStories } from "tests/web/stories.ts";

const story = pageStories();

story("keys: messages, composer, help, list", async ({ scene, page }) => {
  await playConversation(scene);
  await page.goto(scene.url);
  await page.locator(".outcome").waitFor();
  const focused = "document.activeElement.getAttribute('aria-label')";
  await page.keyboard.press("Escape");
  await page.keyboard.press("k");
  assert.match(String(await page.evaluate(focused)), /^Run the tests/);
  await page.keyboard.press("k");
  assert.equal(await page.evaluate(focused), "last commit of this project");
  await page.keyboard.press("j");
  assert.match(String(await page.evaluate(focused)), /^Run the tests/);
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Help" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.match(String(await page.evaluate(focused)), /^Run the tests/, "focus goes back");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate("document.activeElement.id"), "composer");
  await page.keyboard.type("/jk?");
  assert.equal(await composer(page).inputValue(), "/jk?");
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  assert.equal(await page.evaluate("document.activeElement.getAttribute('href')"), "/agents/ada");
});

story("the palette finds agents and actions, by keyboard and by pointer", async (of) => {
  const { scene, page } = of;
  await playFleet(scene);
  await page.goto(scene.url);
  await composer(page).fill("half a thou");
  const field = page.getByRole("combobox", { name: "Agent or action" });
  await page.keyboard.press("Control+k");
  await field.waitFor();
  assert.equal(await page.getByRole("option", { selected: true }).textContent(), "ada idle");
  await page.keyboard.type("bo");
  await page.getByRole("option").nth(1).waitFor({ state: "detached" });
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "bob", level: 1 }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("Control+k");
  await page.keyboard.type("nothing of that name");
  await page.getByText("Nothing is called that").waitFor();
  await page.keyboard.press("Enter");
  await field.fill("");
  await page.keyboard.press("ArrowUp");
  assert.match(await page.getByRole("option", { selected: true }).innerText(), /^Help and keys/);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
  assert.equal(await composer(page).inputValue(), "half a thou");
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
  await page.getByRole("button", { name: /^Theme: as the device/ }).click();
  await page.getByRole("button", { name: /^Theme: light/ }).click();
  await page.getByRole("button", { name: /^Theme: dark/ }).waitFor();
  const dark = await page.evaluate(ground);
  await page.reload();
  await page.getByRole("button", { name: /^Theme: dark/ }).waitFor();
  assert.equal(await page.evaluate(ground), dark);
  assert.equal(dark, "rgb(22, 22, 20)");
});

story("a phone shows one pane at a time, and Enter makes a line", async ({ scene, page }) => {
  await playFleet(scene);
  await page.goto(scene.url);
  await page.locator(".agent-row", { hasText: "ada" }).click();
  await composer(page).fill("one");
  await composer(page).press("Enter");
  assert.equal(await composer(page).inputValue(), "one\n");
  assert.equal(await page.locator(".side").isVisible(), false);
  await page.getByRole("button", { name: "All agents" }).click();
  await page.locator(".agent-row .tag", { hasText: "draft" }).waitFor();
  assert.equal(await page.locator(".talk").isVisible(), false);
}, { viewport: PHONE, hasTouch: true, isMobile: true });
