/**
 * Agents that are opened during and after long turns: the question and the progress are on the
 * screen, one press shows the part in between, and the view is filled until it scrolls.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  untilCount,
  untilEqual,
  untilPage,
  untilText,
  untilTexts,
} from "tests/support/page_waits.ts";
import type { Locator, Page } from "playwright-core";
import { findings, overflow } from "tests/support/axe.ts";
import type { PageScene, ScriptedAgent } from "tests/support/page_scene.ts";
import { playFleet, playLongTurn } from "tests/support/page_story.ts";
import { pageStories } from "tests/web/stories.ts";

const story = pageStories();
const SIZES = [
  { width: 360, height: 740 },
  { width: 768, height: 1024 },
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
] as const;

/** Asserts that an element is visible in the view of the transcript. */
async function assertSeen(page: Page, what: Locator): Promise<void> {
  await what.waitFor();
  const look = async () => {
    const [box, pane] = [await what.boundingBox(), await page.locator(".pane").boundingBox()];
    const isSeen = box !== null && pane !== null && box.y >= pane.y &&
      box.y + box.height <= pane.y + pane.height;
    return isSeen ? "seen" : `${JSON.stringify(box)} in ${JSON.stringify(pane)}`;
  };
  await untilEqual(page, look, "seen");
}

const earlier = (page: Page) => page.getByRole("button", { name: /earlier step/ });
const asked = (page: Page, text: string) => page.locator(".bubble", { hasText: text });
/** Returns whether the transcript is taller than its view. */
const SCROLLS = "(({ scrollHeight, clientHeight }) => scrollHeight > " +
  "clientHeight)(document.querySelector('.pane'))";

/**
 * Waits until the transcript scrolls; the page's policy blocks Playwright's own waiting in the
 * page.
 */
async function untilScrolls(page: Page): Promise<void> {
  await page.evaluate(`new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error("it does not scroll")), 15_000);
    const look = () => ${SCROLLS} ? resolve() : requestAnimationFrame(look);
    look();
  })`);
}

/** Plays turns of a question and an answer. */
async function playTinyTurns(scene: PageScene, ada: ScriptedAgent, count: number): Promise<void> {
  for (let n = 1; n <= count; n++) {
    await scene.ask("ada", `tiny ${n}.`);
    const { turnId } = await ada.takeTurn();
    await ada.say(turnId, `Answer ${n}.`);
    await ada.end(turnId);
  }
}

for (const viewport of SIZES) {
  story(`opened during a run of 600 calls, ${viewport.width} px wide`, async ({ scene, page }) => {
    const ada = await playFleet(scene);
    const turnId = await playLongTurn(scene, ada, { question: "Migrate all files.", calls: 600 });
    await page.goto(`${scene.url}/agents/ada`);
    await page.locator(".working").waitFor();
    await assertSeen(page, asked(page, "Migrate all files."));
    await assertSeen(page, page.locator(".working"));
    await assertSeen(page, page.locator(".tool-target", { hasText: "./step 600" }));
    await assertSeen(page, earlier(page));
    await untilText(earlier(page), /575 earlier steps/);
    assert.deepEqual(await findings(page), []);
    assert.equal(await overflow(page), 0);
    // The turn continues while the page is open.
    await ada.call(turnId, { tool: "bash", arguments: { command: "./step 601" } });
    await assertSeen(page, page.locator(".tool-target", { hasText: "./step 601" }));
    await assertSeen(page, asked(page, "Migrate all files."));
    // Load all of it by keyboard.
    await earlier(page).focus();
    for (const left of [475, 375, 275, 175, 75]) {
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: `${left} earlier steps`, exact: true }).waitFor();
    }
    await page.keyboard.press("Enter");
    await earlier(page).waitFor({ state: "detached" });
    await page.locator(".tool-name", { hasText: "Ran 601 commands" }).waitFor();
    await page.locator("[data-article]:focus").waitFor();
    await ada.say(turnId, "All files are migrated.");
    await ada.end(turnId);
    await assertSeen(page, page.locator(".prose", { hasText: "All files are migrated." }));
  }, { viewport });
}

for (const viewport of [SIZES[0], SIZES[3]]) {
  story(`opened after a run of 600 calls, ${viewport.width} px wide`, async ({ scene, page }) => {
    const ada = await playFleet(scene);
    const answer = "All 600 files are migrated.";
    await playLongTurn(scene, ada, { question: "Migrate all files.", calls: 600, answer });
    await page.goto(`${scene.url}/agents/ada`);
    await assertSeen(page, asked(page, "Migrate all files."));
    await assertSeen(page, page.getByText(answer));
    await assertSeen(page, earlier(page));
    await untilText(earlier(page), /576 earlier steps/);
    await page.getByText("Start of the transcript").waitFor();
  }, { viewport });

  story(`several long turns, ${viewport.width} px wide`, async ({ scene, page }) => {
    const ada = await playFleet(scene);
    for (const n of [1, 2, 3]) {
      const answer = `Part ${n} is done.`;
      await playLongTurn(scene, ada, { question: `Migrate part ${n}.`, calls: 300, answer });
    }
    await playLongTurn(scene, ada, { question: "Migrate the rest.", calls: 300 });
    await page.goto(`${scene.url}/agents/ada`);
    await assertSeen(page, asked(page, "Migrate the rest."));
    await assertSeen(page, page.locator(".working"));
    await page.getByText("Start of the transcript").waitFor({ state: "attached" });
    await untilCount(earlier(page), 4);
    for (const n of [1, 2, 3]) {
      await asked(page, `Migrate part ${n}.`).evaluate((element) => element.scrollIntoView());
      await assertSeen(page, page.getByText(`Part ${n} is done.`));
    }
  }, { viewport });

  story(`tiny turns fill the view, ${viewport.width} px wide`, async ({ scene, page }) => {
    const ada = await playFleet(scene);
    await playTinyTurns(scene, ada, 45);
    await page.goto(`${scene.url}/agents/ada`);
    await assertSeen(page, page.getByText("Answer 45."));
    await untilScrolls(page);
    // After scrolling up, everything is there exactly once.
    while (await page.getByText("Start of the transcript").count() === 0) {
      await page.locator(".pane").press("Home");
      await page.locator("[role=feed][aria-busy=false]").waitFor();
    }
    const questions = Array.from({ length: 45 }, (_, n) => `tiny ${n + 1}.`);
    await untilTexts(page.locator(".bubble"), questions);
  }, { viewport });
}

story("long turns that do not fill the view do not push out the newest ones", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  for (let n = 1; n <= 50; n++) {
    const answer = `Part ${n} is done.`;
    await playLongTurn(scene, ada, { question: `Part ${n}.`, calls: 30, answer });
  }
  await page.setViewportSize({ width: 1280, height: 20_000 });
  await page.goto(scene.url);
  await page.getByText("Part 50 is done.").waitFor();
  await page.getByText("Part 21 is done.").waitFor();
  // The window is full: the rest is loaded only on request.
  await page.getByRole("button", { name: "Older messages" }).waitFor();
  await untilCount(page.getByRole("button", { name: "Newest" }), 0);
});

story("a short history is at its beginning and does not scroll", async ({ scene, page }) => {
  const ada = await playFleet(scene);
  await playTinyTurns(scene, ada, 3);
  await page.goto(scene.url);
  await assertSeen(page, page.getByText("Start of the transcript"));
  await assertSeen(page, page.getByText("Answer 3."));
  await untilPage(page, SCROLLS, false);
});

story("a view that grows is filled again", async ({ scene, page }) => {
  const ada = await playFleet(scene);
  await playTinyTurns(scene, ada, 60);
  await page.setViewportSize({ width: 1280, height: 400 });
  await page.goto(scene.url);
  await page.getByText("Answer 60.").waitFor();
  await page.setViewportSize({ width: 1280, height: 4_000 });
  await untilScrolls(page);
});

story("the text in view stays in place while older turns and steps load above it", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  await playTinyTurns(scene, ada, 30);
  const long = { question: "Long one.", calls: 200, answer: "Long one is done." };
  await playLongTurn(scene, ada, long);
  await playTinyTurns(scene, ada, 9);
  await page.goto(scene.url);
  await page.getByText("Answer 9.").last().waitFor();
  const pane = page.locator(".pane");
  await pane.hover();
  // Scroll to the long turn in one step, which fetches older events.
  const held = page.getByText("Long one is done.");
  await held.evaluate((element) => element.scrollIntoView({ block: "center" }));
  const topOf = async () => (await held.boundingBox())?.y;
  const top = await topOf();
  await page.locator(".bubble", { hasText: "tiny 21." }).waitFor({ state: "attached" });
  await untilEqual(page, topOf, top);
  await page.locator(".tool-name", { hasText: "Ran 24 commands" }).waitFor();
  await earlier(page).click();
  await page.locator(".tool-name", { hasText: "Ran 124 commands" }).waitFor();
  await untilEqual(page, topOf, top);
});

story("events that came while the connection was lost join the cut turn", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  const turnId = await playLongTurn(scene, ada, { question: "Go on.", calls: 300 });
  await page.goto(scene.url);
  await page.getByRole("button", { name: "275 earlier steps" }).waitFor();
  scene.network.refuse(true);
  scene.network.cut();
  await page.locator(".pill").waitFor();
  for (let n = 1; n <= 70; n++) {
    await ada.call(turnId, { tool: "bash", arguments: { command: `./more ${n}` }, result: "ok" });
  }
  scene.network.refuse(false);
  await page.locator(".tool-name", { hasText: "Ran 95 commands" }).waitFor();
  await assertSeen(page, page.getByRole("button", { name: "275 earlier steps" }));
  await assertSeen(page, asked(page, "Go on."));
}, { isTimeReal: true });

story("a run of 1,500 calls that is watched keeps its question", async ({ scene, page }) => {
  const ada = await playFleet(scene);
  await page.goto(scene.url);
  await page.getByText("Hello, I am Ada.").waitFor();
  await playLongTurn(scene, ada, { question: "Migrate it all.", calls: 1_500 });
  await page.locator(".tool-target", { hasText: "./step 1500" }).waitFor();
  await assertSeen(page, asked(page, "Migrate it all."));
  await assertSeen(page, page.locator(".working"));
  const commands = page.locator(".tool-name", { hasText: "commands" });
  const calls = async () => {
    const texts = [await earlier(page).innerText(), await commands.innerText()];
    return texts.map((text) => Number(/\d+/.exec(text)?.[0])).reduce((a, b) => a + b);
  };
  await untilEqual(page, calls, 1_500);
});

story("a turn that waited behind many shows its question when it runs", async (of) => {
  const { scene, page } = of;
  const ada = await playFleet(scene);
  for (let n = 1; n <= 30; n++) await scene.ask("ada", `waiting ${n}.`);
  await page.setViewportSize({ width: 1280, height: 400 });
  await page.goto(scene.url);
  await page.locator(".bubble", { hasText: "waiting 30." }).waitFor();
  assert.equal(await asked(page, "waiting 1.").count(), 0);
  const { turnId } = await ada.takeTurn();
  await ada.say(turnId, "The first one is done.");
  await asked(page, "waiting 1.").waitFor({ state: "attached" });
  await page.getByText("The first one is done.").waitFor({ state: "attached" });
});

story("after a failed request for an older page, a button offers another try", async (of) => {
  const { scene, page, watched } = of;
  const ada = await playFleet(scene);
  await playTinyTurns(scene, ada, 20);
  await page.setViewportSize({ width: 1280, height: 4_000 });
  await page.route(/before=/, (route) => route.fulfill({ status: 503, body: "" }));
  await page.goto(scene.url);
  const again = page.getByRole("button", { name: "Could not load older messages. Try again" });
  await again.waitFor();
  const tries = () => watched.requested.filter((address) => address.includes("before=")).length;
  assert.equal(tries(), 1);
  await ada.state("working");
  await again.press("Enter");
  await again.waitFor();
  assert.equal(tries(), 2);
  await page.unroute(/before=/);
  await again.press("Enter");
  await page.getByText("Start of the transcript").waitFor();
});
