/**
 * The form that connects a model, in Chromium against a real gateway with a scripted daemon: by
 * keyboard, with wrong input, while the agent works, and that a key never leaks.
 *
 * @module
 */

import assert from "node:assert/strict";
import { untilEqual, untilPage, untilValue } from "tests/support/page_waits.ts";
import type { Page } from "playwright-core";
import { type ScriptedAgent, startScene } from "tests/support/page_scene.ts";
import { playFleet } from "tests/support/page_story.ts";
import { GOOD_KEY, type ScriptedModels, scriptedModels } from "tests/support/scripted_models.ts";
import { browserOfFile, storiesIn } from "tests/web/stories.ts";

interface Form {
  readonly ada: ScriptedAgent;
  readonly models: ScriptedModels;
}

const story = storiesIn<Form>(browserOfFile(), async (email) => {
  const models = scriptedModels();
  const scene = await startScene(email, { verbs: models });
  return { scene, ada: await playFleet(scene), models };
}, async ({ scene, page }) => {
  await page.goto(scene.url);
  await page.getByText("Hello, I am Ada.").waitFor();
});

const key = (page: Page) => page.getByLabel("Key", { exact: true });
const model = (page: Page) => page.getByLabel("Model", { exact: true });
const connect = (page: Page) => page.getByRole("button", { name: "Test and connect" });

async function open(page: Page): Promise<void> {
  await page.getByRole("button", { name: "connect a real model" }).click();
  await page.getByText("ada uses the built-in demo model.").waitFor();
}

story(
  "a model is connected by keyboard alone, and the page says which",
  async ({ page, models }) => {
    await page.getByRole("button", { name: "connect a real model" }).focus();
    await page.keyboard.press("Enter");
    const anthropic = page.getByRole("radio", { name: "Anthropic" });
    await anthropic.waitFor();
    await anthropic.focus();
    await page.keyboard.press("ArrowDown");
    await page.getByRole("radio", { name: "OpenAI", checked: true }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.type("big-1");
    await page.keyboard.press("Tab");
    await page.keyboard.type(GOOD_KEY);
    assert.equal(await key(page).getAttribute("type"), "password");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("ada now uses big-1 at OpenAI.").waitFor();
    await page.getByText("(it ends with WXYZ)").waitFor();
    const spoken = page.locator(".shell > [role=status]");
    await untilEqual(page, () => spoken.textContent(), "ada now uses big-1 at OpenAI");
    const focused = "document.activeElement.textContent";
    await untilPage(page, focused, "Done");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    // The focus returns to the link that opened the form.
    await untilPage(page, `/^connect a real model/.test(${focused})`, true);
    assert.equal(models.calls.at(-1)?.stdin, GOOD_KEY);
  },
);

story("a missing value is reported beside its field, and the first has the focus", async (of) => {
  const { page, models } = of;
  await open(page);
  await connect(page).click();
  await page.getByText("Enter the name of a model").waitFor();
  await page.getByText("Enter a key for Anthropic").waitFor();
  await untilPage(page, "document.activeElement.name", "model");
  const described = () =>
    model(page).evaluate((field) =>
      (field.getAttribute("aria-describedby") ?? "").split(" ")
        .map((id: string) => field.ownerDocument.getElementById(id)?.textContent)
    );
  await untilEqual(page, described, [
    "Enter the name of a model",
    "The provider's name for the model",
  ]);
  await untilEqual(page, () => model(page).getAttribute("aria-invalid"), "true");
  assert.equal(models.calls.length, 1, "nothing was asked");
});

story(
  "a wrong key is reported beside its field, not stored, and can be corrected",
  async (of) => {
    const { page, models } = of;
    await open(page);
    await model(page).fill("unknown");
    await key(page).fill("wrong");
    await connect(page).click();
    await page.getByText("The model is none of the endpoint's: big-1, big-2").waitFor();
    await model(page).fill("big-1");
    await key(page).press("Enter");
    await page.getByText("The key is not accepted").waitFor();
    await untilPage(page, "document.activeElement.name", "key");
    await key(page).fill(GOOD_KEY);
    await key(page).press("Enter");
    await page.getByText("ada now uses big-1 at Anthropic.").waitFor();
    assert.equal(models.calls.length, 4);
  },
);

story("an endpoint that cannot be reached can be connected without the test", async (of) => {
  const { page, models } = of;
  await open(page);
  await page.getByRole("radio", { name: "Another endpoint" }).click();
  await page.getByLabel("Address").fill("http://nowhere.example/v1");
  await page.getByText("Not encrypted: anyone on the network path can read").waitFor();
  await model(page).fill("m");
  await connect(page).click();
  await page.getByText("The address does not answer").waitFor();
  const release = models.hold();
  await page.getByRole("button", { name: "Connect without testing" }).click();
  await page.getByRole("button", { name: "Connecting…" }).waitFor();
  release();
  await page.getByText("ada now uses m at http://nowhere.example/v1.").waitFor();
  assert.ok(models.calls.at(-1)?.argv.includes("--no-check"));
  assert.equal(models.calls.at(-1)?.stdin, undefined);
});

story("the form waits while the agent works, and the wait can be stopped", async (of) => {
  const { scene, ada, page, models } = of;
  await scene.ask("ada", "work");
  const { turnId } = await ada.takeTurn();
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.getByRole("button", { name: "Model of ada" }).click();
  await page.getByRole("radio", { name: "Demo model" }).click();
  await page.getByRole("button", { name: "Use the demo model" }).click();
  await page.getByText("ada works on a turn. The model changes when the turn ends.").waitFor();
  await page.getByRole("button", { name: "Waiting…" }).waitFor();
  await page.getByRole("button", { name: "Stop waiting" }).click();
  await page.getByText("ada works on a turn").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Use the demo model" }).click();
  await page.getByText("ada works on a turn. The model changes when the turn ends.").waitFor();
  assert.equal(models.calls.length, 1);
  await ada.end(turnId);
  await page.getByText("ada now uses the built-in demo model.").waitFor();
  assert.equal(models.calls.length, 2);
});

story("the form says that a test waits while the agent works", async (of) => {
  const { scene, ada, page } = of;
  await open(page);
  await scene.ask("ada", "work");
  const { turnId } = await ada.takeTurn();
  await model(page).fill("big-1");
  await key(page).fill(GOOD_KEY);
  await connect(page).click();
  await page.getByText("ada works on a turn. The test starts when the turn ends.").waitFor();
  await page.getByRole("button", { name: "Waiting…" }).waitFor();
  await ada.end(turnId);
  await page.getByText("ada now uses big-1 at Anthropic.").waitFor();
});

story("a key is in no URL, storage or markup, and is removed with the dialog", async (of) => {
  const { page, watched, models, scene } = of;
  await open(page);
  await model(page).fill("big-1");
  await key(page).fill(GOOD_KEY);
  const kept = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])";
  assert.ok(!String(await page.evaluate(kept)).includes(GOOD_KEY));
  await page.keyboard.press("Escape");
  await open(page);
  await untilValue(key(page), "");
  await model(page).fill("big-1");
  await key(page).fill(GOOD_KEY);
  await connect(page).click();
  await page.getByRole("button", { name: "Done" }).waitFor();
  assert.ok(!(await page.content()).includes(GOOD_KEY));
  assert.ok(!watched.requested.join().includes(GOOD_KEY));
  assert.ok(!scene.requests.map(({ path }) => path).join().includes(GOOD_KEY));
  assert.ok(models.calls.every(({ argv }) => !argv.join().includes(GOOD_KEY)));
});

story(
  "a lost connection and a slow daemon are shown, and nothing is sent twice",
  async (of) => {
    const { page, scene, models } = of;
    await open(page);
    await model(page).fill("big-1");
    await key(page).fill(GOOD_KEY);
    const release = models.hold();
    await connect(page).click();
    await page.getByRole("button", { name: "Testing…" }).click({ force: true });
    await key(page).press("Enter");
    while (models.calls.length < 2) await new Promise((go) => setTimeout(go, 5));
    scene.network.refuse(true);
    scene.network.cut();
    await page.getByText("The gateway did not answer.").waitFor();
    release();
    scene.network.refuse(false);
    assert.equal(models.calls.length, 2);
  },
);
