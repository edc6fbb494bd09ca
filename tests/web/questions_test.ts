/**
 * Questions of programs in the page: the form with each kind of field, the answer in the
 * transcript, invalid values, keys, a lost connection, and answers given elsewhere meanwhile.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { findings } from "tests/support/axe.ts";
import { PHONE } from "tests/support/browser.ts";
import { SCENE_NOW } from "tests/support/page_scene.ts";
import { untilCount, untilText } from "tests/support/page_waits.ts";
import { type RunningTurn, turnStories } from "tests/web/stories.ts";

const story = turnStories();

const COLOUR = {
  name: "colour",
  title: "Colour",
  kind: "choice",
  required: true,
  options: [{ value: "b", label: "Blue", description: "like the sea" }, {
    value: "r",
    label: "Red",
  }],
};
/** A field of each kind. */
const FIELDS = [
  COLOUR,
  { name: "n", title: "How many", kind: "integer", required: true, default: 3, min: 1, max: 9 },
  { name: "sure", title: "Are you sure", kind: "boolean", required: false },
  {
    name: "extras",
    title: "Extras",
    kind: "choices",
    required: false,
    allows_other: true,
    options: [{ value: "milk", label: "Milk" }, { value: "sugar", label: "Sugar" }],
  },
  { name: "mail", title: "E-mail", kind: "text", format: "email", required: false },
  { name: "note", title: "Note", kind: "text", required: false, description: "In one line" },
];

/** Sends a question of a program. */
async function askQuestion(
  of: RunningTurn,
  id: string,
  more: Readonly<Record<string, unknown>> = {},
) {
  await of.agent.emit("question_asked", {
    question_id: id,
    mcp: "hub",
    message: "Which colour shall it be?",
    fields: [COLOUR],
    expires: SCENE_NOW + 12 * 60_000,
    ...more,
  }, { turnId: of.turnId });
}

/** The agent receives the answer and delivers it to the program, as its dial unit does. */
async function receiveAnswer(
  { agent, turnId }: RunningTurn,
): Promise<Readonly<Record<string, unknown>>> {
  const { type: _, ...answer } = await agent.client.next("question_answer");
  await agent.emit("question_answered", answer, { turnId });
  const { question_id } = answer;
  await agent.emit("question_ended", { question_id, state: "delivered" }, { turnId });
  return answer;
}

const card = (page: Page) => page.locator(".question-card");
const send = (of: Locator) => of.getByRole("button", { name: "Send", exact: true });

story("a question is a form with labelled fields, and the answer is in the log", async (of) => {
  const { page } = of;
  await askQuestion(of, "q1", { fields: FIELDS });
  await page.getByRole("heading", { name: "MCP hub asks" }).waitFor();
  for (const part of ["Which colour shall it be?", "like the sea", "expires in 12 min"]) {
    await card(page).filter({ hasText: part }).waitFor();
  }
  await page.locator(".asked", { hasText: "needs an answer" }).waitFor();
  await page.locator(".working", { hasText: "needs an answer" }).waitFor();
  await page.getByRole("radio", { name: "Blue" }).check();
  await page.getByRole("group", { name: "Extras" }).getByLabel("Sugar").check();
  // Typing selects the text beside the options.
  await page.getByLabel("Other answer to: Extras").fill("Cream");
  await page.getByLabel("E-mail").fill("ada@example.org");
  await page.getByLabel("Note").fill("two\nlines");
  await send(card(page)).click();
  const { values, ...answer } = await receiveAnswer(of);
  assert.deepEqual(answer, {
    question_id: "q1",
    action: "answered",
    by: "owner:ada@example.org",
    surface: "page",
  });
  assert.deepEqual(values, {
    colour: "b",
    n: 3,
    extras: ["sugar", "Cream"],
    mail: "ada@example.org",
    note: "two\nlines",
  });
  await card(page).waitFor({ state: "detached" });
  await untilText(
    page.locator(".asked"),
    /MCP hub asked.*Which colour.*Colour.*Blue.*How many.*3.*Extras.*Sugar, Cream.*answered by ada@example\.org/s,
  );
});

story("the call that asks says that it needs an answer, until it has one", async (of) => {
  const { page, agent, turnId } = of;
  const call = { call_id: "c1", mcp: null, tool: "AskUserQuestion", arguments: {} };
  await agent.emit("tool_call", call, { turnId });
  const row = page.locator(".tool", { hasText: "AskUserQuestion" });
  await row.filter({ hasText: "running" }).waitFor();
  await askQuestion(of, "q1", { mcp: null });
  await row.filter({ hasText: "needs an answer" }).waitFor();
  await page.getByRole("radio", { name: "Blue" }).check();
  await send(card(page)).click();
  await receiveAnswer(of);
  await row.filter({ hasText: "running" }).waitFor();
});

story("an invalid value is shown at its field, and nothing is sent", async (of) => {
  const { page } = of;
  await askQuestion(of, "q1", { fields: FIELDS });
  await page.getByLabel("How many").fill("12");
  await send(card(page)).click();
  await page.getByText("must be given").waitFor();
  await page.getByText("must be 1 to 9").waitFor();
  assert.equal(of.scene.requests.filter(({ path }) => path.endsWith("/answer")).length, 0);
  // The first faulty field has the focus.
  await page.locator('input[type="radio"]:focus').waitFor();
  await page.getByRole("radio", { name: "Red" }).check();
  await page.getByLabel("How many").fill("2");
  await send(card(page)).click();
  assert.deepEqual((await receiveAnswer(of)).values, { colour: "r", n: 2 });
});

story("a form can be filled in with the keyboard alone", async (of) => {
  const { page } = of;
  await askQuestion(of, "q1");
  await page.getByRole("radio", { name: "Blue" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.deepEqual((await receiveAnswer(of)).values, { colour: "r" });
  await card(page).waitFor({ state: "detached" });
  await page.locator("#composer:focus").waitFor();
});

story("a question can be declined; one without fields can be accepted", async (of) => {
  const { page } = of;
  await askQuestion(of, "q1");
  await page.getByRole("button", { name: "Decline" }).click();
  const { action, values } = await receiveAnswer(of);
  assert.deepEqual([action, values], ["declined", undefined]);
  await page.locator(".asked", { hasText: "declined by ada@example.org" }).waitFor();
  await askQuestion(of, "q2", { mcp: null, message: "Shall I go on?", fields: [] });
  await page.getByRole("heading", { name: "ada asks" }).waitFor();
  await page.getByRole("button", { name: "Accept" }).click();
  assert.deepEqual((await receiveAnswer(of)).values, {});
});

story("an address is text that the page does not open", async (of) => {
  const { page } = of;
  await askQuestion(of, "q1", {
    message: "Sign in",
    fields: [],
    url: "https://vendor.example/login?a=1",
  });
  await card(page).getByText("https://vendor.example/login?a=1").waitFor();
  assert.equal(await card(page).locator("a").count(), 0);
  await page.getByRole("button", { name: "I have opened it" }).click();
  assert.equal((await receiveAnswer(of)).action, "answered");
});

story("without a connection nothing can be sent", async (of) => {
  const { page, scene } = of;
  await askQuestion(of, "q1");
  await page.getByRole("radio", { name: "Blue" }).check();
  scene.network.refuse(true);
  scene.network.cut();
  await card(page).getByText("Answer when the connection returns").waitFor();
  assert.ok(await send(card(page)).isDisabled());
  assert.ok(await page.getByRole("radio", { name: "Red" }).isDisabled());
  scene.network.refuse(false);
  await page.getByRole("button", { name: "Try now" }).click();
  await page.getByText("expires in 12 min").waitFor();
  // The entered values are kept.
  await send(card(page)).click();
  assert.deepEqual((await receiveAnswer(of)).values, { colour: "b" });
});

story("a late answer is reported, and the card is removed with the question", async (of) => {
  const { page } = of;
  await askQuestion(of, "q1");
  await card(page).waitFor();
  // Another person answers on a command line; this tab is not notified yet.
  await page.route("**/api/questions?*", (route) => route.abort());
  const answer = { question_id: "q1", action: "declined", by: "the operator", surface: "cli" };
  await of.agent.emit("question_answered", answer, { turnId: of.turnId });
  await page.getByRole("radio", { name: "Blue" }).check();
  await send(card(page)).click();
  await page.getByText("it was already declined by the operator").waitFor();
  await page.unroute("**/api/questions?*");
  const ended = { question_id: "q1", state: "delivered" };
  await of.agent.emit("question_ended", ended, { turnId: of.turnId });
  await card(page).waitFor({ state: "detached" });
  await page.locator(".asked", { hasText: "declined by the operator" }).waitFor();
});

story(
  "a withdrawn question is removed, and a page opened later shows the waiting ones",
  async (of) => {
    const { page } = of;
    await askQuestion(of, "q1");
    await askQuestion(of, "q2", { message: "And which size?" });
    await untilCount(card(page), 2);
    await of.agent.emit("question_ended", { question_id: "q1", state: "withdrawn" }, {
      turnId: of.turnId,
    });
    await untilCount(card(page), 1);
    await page.locator(".asked", { hasText: "withdrawn" }).waitFor();
    await page.reload();
    await untilText(card(page), /And which size/);
  },
);

story("a question outside of a turn is shown with its answer", async (of) => {
  const { page, agent } = of;
  await askQuestion({ ...of, turnId: undefined as unknown as string }, "q1");
  await page.getByRole("radio", { name: "Blue" }).check();
  await send(card(page)).click();
  const { type: _, ...answer } = await agent.client.next("question_answer");
  await agent.emit("question_answered", answer);
  await page.locator(".asked", { hasText: "Blue" }).waitFor();
  await untilCount(page.locator(".asked"), 1);
});

story("the list of agents shows that an answer is needed", async ({ page, agent }) => {
  await agent.state("waiting-approval", "a question waits for an answer");
  await page.locator(".talk-state", { hasText: "needs an answer" }).waitFor();
});

story("the card is accessible, and its text is not interpreted", async (of) => {
  const { page } = of;
  await askQuestion(of, "q1", {
    message: "‮<img src=x onerror=alert(1)>\u001b[31m",
    fields: FIELDS.map((field) => ({ ...field, title: `<script>${field.title}</script>` })),
  });
  await card(page).waitFor();
  assert.equal(await card(page).locator("img, script").count(), 0);
  await untilText(card(page), /⟨U\+202E⟩<img/);
  await send(card(page)).click();
  await page.getByText("must be given").waitFor();
  assert.deepEqual(await findings(page), []);
}, { viewport: PHONE });
