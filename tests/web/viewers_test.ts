/**
 * Several people at one browser, in Chromium against a real gateway: text of one person is neither
 * shown to the next nor sent in their name, and a page switches to the person who signed in since.
 *
 * @module
 */

import assert from "node:assert/strict";
import { untilCount, untilText, untilValue } from "tests/support/page_waits.ts";
import { playConversation, playFleet } from "tests/support/page_story.ts";
import { composer, pageStories, send } from "tests/web/stories.ts";

const story = pageStories();

story("what one viewer wrote is neither shown to the next one nor sent", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  scene.signIn("bob@example.org");
  await page.goto(scene.url);
  await page.locator(".account-name", { hasText: "bob@example.org" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Log out" }).count(), 0, "no login proxy here");
  const bob = page.getByLabel("Message to bob");
  await bob.fill("half a thought");
  scene.network.refuse(true);
  scene.network.cut();
  await page.locator(".pill").waitFor();
  await bob.fill("not for ada's eyes");
  await bob.press("Enter");
  await page.locator(".queue-row").waitFor();
  await bob.fill("half a thought");
  scene.network.refuse(false);
  scene.signIn("ada@example.org");
  const sent = () => scene.requests.filter(({ method }) => method === "POST").length;
  const before = sent();
  await page.goto(`${scene.url}/agents/bob`);
  await page.locator(".account-name", { hasText: "ada@example.org" }).waitFor();
  await page.locator(".agent-row").nth(2).waitFor();
  await page.goto(`${scene.url}/agents/ada`);
  await send(page, "mine");
  assert.equal((await ada.takeTurn()).text, "mine");
  assert.equal(sent() - before, 1);
  await page.goto(`${scene.url}/agents/bob`);
  assert.equal(await bob.inputValue(), "");
  assert.equal(await page.locator(".queue-row").count(), 0);
});

story("a page reloads when another person signs in on the same browser", async (of) => {
  const { scene, watched, page } = of;
  const ada = await playConversation(scene);
  await page.goto(scene.url);
  await page.locator(".outcome").waitFor();
  await composer(page).fill("ada's own thought");
  scene.signIn("bob@example.org");
  const tab = await watched.context.newPage();
  await tab.goto(scene.url);
  await tab.locator(".account-name", { hasText: "bob@example.org" }).waitFor();
  await page.locator(".account-name", { hasText: "bob@example.org" }).waitFor();
  await untilText(page.locator("body"), /^(?![^]*ada)/);
  await untilValue(page.locator("textarea"), "");
  scene.signIn("ada@example.org");
  await tab.goto(scene.url);
  await page.locator(".account-name", { hasText: "ada@example.org" }).waitFor();
  await untilValue(composer(page), "ada's own thought");
  await send(page, "mine");
  assert.equal((await ada.takeTurn()).text, "mine");
});

story("a page without a viewer does not treat the last viewer as another person", async (of) => {
  const { scene, page } = of;
  await playConversation(scene);
  await page.goto(scene.url);
  await page.locator(".outcome").waitFor();
  scene.signIn("stranger@example.org");
  await page.goto(scene.url);
  await page.locator(".pill").waitFor();
  await page.evaluate("dispatchEvent(new Event('focus'))");
  assert.equal(await page.getByText("Someone else has signed in").count(), 0);
  scene.signIn("ada@example.org");
  await page.reload();
  await page.locator(".account-name", { hasText: "ada@example.org" }).waitFor();
});

story("a text is not sent for another viewer who signed in before the page noticed", async (of) => {
  const { scene, page } = of;
  await playConversation(scene);
  // The last request of a start. After it, only the response to the message reveals the signed-in
  // person.
  const asked = page.waitForResponse((answer) => answer.url().includes("/api/approvals"));
  await page.goto(scene.url);
  await page.locator(".outcome").waitFor();
  await asked;
  scene.signIn("bob@example.org");
  await send(page, "for ada alone");
  await page.locator(".account-name", { hasText: "bob@example.org" }).waitFor();
  await untilCount(page.locator(".queue-row"), 0);
  await untilText(page.locator("body"), /^(?![^]*for ada alone)/);
  scene.signIn("ada@example.org");
  await page.reload();
  await page.locator(".ask", { hasText: "for ada alone" }).or(
    page.locator(".queue-row", { hasText: "for ada alone" }),
  ).first().waitFor();
});
