/**
 * What one does with the page, in Chromium against a real gateway: watching an answer, losing the network
 * and coming back, writing, stopping, moving by keyboard. Agents are in the hands of the test.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { openPage, PHONE, startBrowser, type WatchedPage } from "tests/support/browser.ts";
import { type PageScene, startScene } from "tests/support/page_scene.ts";
import { playConversation, playFleet } from "tests/support/page_story.ts";

type Story = (of: {
  readonly scene: PageScene;
  readonly watched: WatchedPage;
  readonly page: Page;
}) => Promise<void>;

/** FLEETCTL_ROUNDS says otherwise. */
const CUTS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "20");

let browser: Browser;
Deno.test.beforeAll(async () => {
  browser = await startBrowser();
});
Deno.test.afterAll(async () => {
  await browser.close();
});

/** A test with a scene and a page of its own; whatever the page did wrong fails it. */
function story(
  name: string,
  tell: Story,
  options: Parameters<typeof openPage>[1] & { readonly email?: string } = {},
): void {
  Deno.test({
    name,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      const { email, ...given } = options;
      await using scene = await startScene(email);
      await using watched = await openPage(browser, given);
      await tell({ scene, watched, page: watched.page });
      assert.deepEqual(watched.faults, []);
      const foreign = watched.requested.filter((address) => !address.startsWith(scene.url));
      assert.deepEqual(foreign, []);
    },
  });
}

const composer = (page: Page) => page.getByLabel("Message to ada");
const send = async (page: Page, text: string) => {
  await composer(page).fill(text);
  await composer(page).press("Enter");
};

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

/** Bytes of a body as they come over the wire, compressed; `fetch` would hide that. */
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
  assert.equal(await page.locator("article[aria-busy=true]").count(), 1);
  ada.preview(turn.turnId, "m", "c**", 10);
  await page.locator(".is-live strong", { hasText: "abc" }).waitFor();
  await ada.say(turn.turnId, "It is **abc**, by Mia. That is all.", "m");
  await page.locator(".prose:not(.is-live)", { hasText: "by Mia" }).waitFor();
  assert.equal(await page.locator(".is-live").count(), 0);
  await ada.end(turn.turnId);
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  const said = page.getByRole("status").getByText("ada: It is abc, by Mia.");
  await said.waitFor({ state: "attached" });
  assert.equal(await page.locator("article").count(), 1);
});

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
  assert.equal(await page.locator(".prose").count(), 1);
  assert.equal(await page.locator(".tool").count(), 1);
  assert.equal(await page.locator("article").count(), 1);
}, { isTimeReal: true });

story(`${CUTS} cuts while an agent talks lose nothing and double nothing`, async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await send(page, "count");
  const { turnId } = await ada.takeTurn();
  for (let round = 1; round <= CUTS; round++) {
    await ada.say(turnId, `line ${round}.`);
    scene.network.cut();
    await ada.say(turnId, `after ${round}.`);
    // Comes back by itself; nobody waits for the longer delays of the back-off.
    await page.evaluate("dispatchEvent(new Event('online'))");
  }
  await ada.end(turnId);
  await page.locator(".prose", { hasText: `after ${CUTS}.` }).waitFor();
  const lines = await page.locator(".prose").allInnerTexts();
  const wanted = Array.from({ length: CUTS }, (_, i) => [`line ${i + 1}.`, `after ${i + 1}.`])
    .flat();
  assert.deepEqual(lines, wanted);
}, { isTimeReal: true });

story("a draft survives a reload, and a message written offline arrives once", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await composer(page).fill("half a thou");
  await page.reload();
  await page.getByText("Hello, I am Ada.").waitFor();
  assert.equal(await composer(page).inputValue(), "half a thou");
  scene.network.refuse(true);
  scene.network.cut();
  await page.locator(".pill").waitFor();
  await send(page, "a whole thought");
  await page.getByText("queued until the connection is back").waitFor();
  assert.equal(await composer(page).inputValue(), "");
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
    // The gateway gets it; its answer is lost on the way.
    await route.fetch();
    await route.abort("connectionreset");
  });
  await send(page, "once");
  const { turnId } = await ada.takeTurn();
  await ada.end(turnId);
  await page.locator(".queue-row").waitFor({ state: "detached" });
  await page.locator(".ask", { hasText: "once" }).waitFor();
  assert.equal(await page.locator(".ask").count(), 1);
  assert.equal(ada.client.frames.filter(({ type }) => type === "turn").length, 1);
}, { isTimeReal: true });

story("a refused message says why, can be tried again and taken back", async (of) => {
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
  assert.equal(await composer(page).inputValue(), "no luck");
  assert.equal(await page.locator(".queue-row").count(), 0);
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

story("every outcome, tool state and cut is told in words", async ({ scene, page }) => {
  const ada = await playFleet(scene);
  await scene.ask("ada", "one");
  const { turnId } = await ada.takeTurn();
  await ada.call(turnId, {
    ...{ tool: "bash", arguments: { command: "cat big" }, result: "x".repeat(20_000) },
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
  const whole = await page.locator("pre", { hasText: "xxx" }).innerText();
  assert.equal(whole.length, 20_000);
});

story("another owner's agent is refused in its place, and the rest works", async (of) => {
  const { scene, page } = of;
  await playFleet(scene);
  await page.goto(`${scene.url}/agents/ada`);
  await page.getByText("This agent cannot be shown").waitFor();
  await page.locator(".agent-row", { hasText: "bob" }).click();
  await page.getByLabel("Message to bob").waitFor();
  assert.equal(new URL(page.url()).pathname, "/agents/bob");
  await page.goBack();
  await page.getByText("This agent cannot be shown").waitFor();
}, { email: "bob@example.org" });

story("an ended session asks to sign in, and keeps what was typed", async ({ scene, page }) => {
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await page.getByText("Hello, I am Ada.").waitFor();
  scene.signOut(true);
  scene.network.cut();
  await page.locator(".pill", { hasText: "You are signed out" }).waitFor();
  await send(page, "kept");
  scene.signOut(false);
  await page.reload();
  assert.equal((await ada.takeTurn()).text, "kept");
});

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

story("what is typed right after sending is there after a reload", async ({ scene, page }) => {
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await composer(page).fill("first");
  // In one go, before any disk can have taken the message.
  await page.evaluate(`(() => {
    const area = document.getElementById("composer");
    area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    area.value = "second";
    area.dispatchEvent(new Event("input", { bubbles: true }));
  })()`);
  assert.equal((await ada.takeTurn()).text, "first");
  assert.equal(await composer(page).inputValue(), "second");
  await page.reload();
  await page.locator(".ask", { hasText: "first" }).waitFor();
  assert.equal(await composer(page).inputValue(), "second");
});

story("a page that is too far behind is told so, and shows the newest once", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await page.getByText("Hello, I am Ada.").waitFor();
  await ada.flood(10, (index) => ["notice", { text: `early ${index}` }]);
  await page.getByText("early 9", { exact: true }).waitFor();
  scene.network.refuse(true);
  scene.network.cut();
  await page.locator(".pill").waitFor();
  // More than the gateway sends again to one that comes back.
  await ada.flood(10_050, (index) => ["notice", { text: `late ${index}` }]);
  const lagged = page.waitForResponse((answer) => /\/api\/transcript\?/.test(answer.url()));
  scene.network.refuse(false);
  // The page may be back by itself by now; then this does nothing.
  await page.evaluate("dispatchEvent(new Event('online'))");
  await lagged;
  await page.getByText("late 10049", { exact: true }).waitFor();
  await page.evaluate("document.querySelector('.pane').scrollTo(0, 0)");
  await page.getByText("late 9900", { exact: true }).waitFor({ state: "attached" });
  await ada.emit("notice", { text: "after all" });
  await page.getByRole("button", { name: "Newest" }).click();
  await page.getByText("after all", { exact: true }).waitFor();
  const notes = await page.locator(".notice").allInnerTexts();
  assert.equal(new Set(notes).size, notes.length);
}, { isTimeReal: true });

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

story("what one viewer wrote is neither shown to nor sent for the next one", async (of) => {
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

story("a page gives way when somebody else signs in on the same browser", async (of) => {
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
  const shown = async () => await page.locator("body").innerText();
  assert.doesNotMatch(await shown(), /ada/);
  assert.equal(await page.locator("textarea").inputValue(), "");
  scene.signIn("ada@example.org");
  await tab.goto(scene.url);
  await page.locator(".account-name", { hasText: "ada@example.org" }).waitFor();
  assert.equal(await composer(page).inputValue(), "ada's own thought");
  await send(page, "mine");
  assert.equal((await ada.takeTurn()).text, "mine");
});

story("what is written before a page notices another viewer is not sent for them", async (of) => {
  const { scene, page } = of;
  await playConversation(scene);
  await page.goto(scene.url);
  await page.locator(".outcome").waitFor();
  scene.signIn("bob@example.org");
  await send(page, "for ada alone");
  await page.locator(".account-name", { hasText: "bob@example.org" }).waitFor();
  assert.equal(await page.locator(".queue-row").count(), 0);
  assert.doesNotMatch(await page.locator("body").innerText(), /for ada alone/);
  scene.signIn("ada@example.org");
  await page.reload();
  await page.locator(".ask", { hasText: "for ada alone" }).or(
    page.locator(".queue-row", { hasText: "for ada alone" }),
  ).first().waitFor();
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
  assert.match(await composer(page).inputValue(), /^git show --stat 4f1c09a/);
});

story("older pages come while one scrolls up, and the view stays where it is", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  await ada.flood(400, (index) => ["notice", { text: `note ${index}` }]);
  await page.goto(scene.url);
  await page.getByText("note 399", { exact: true }).waitFor();
  for (const note of [299, 199, 99]) {
    await page.evaluate("document.querySelector('.pane').scrollTo(0, 0)");
    await page.getByText(`note ${note}`, { exact: true }).waitFor({ state: "attached" });
  }
  await page.getByRole("button", { name: "Newest" }).click();
  await page.getByText("note 399", { exact: true }).waitFor();
  const notes = await page.locator(".notice").allInnerTexts();
  assert.equal(new Set(notes).size, notes.length);
});
