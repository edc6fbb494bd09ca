/**
 * Calls that wait for the owner, in the page: the card with everything needed for a decision, one
 * card for the prompts of one turn, press-and-hold for destructive calls, and decisions made
 * elsewhere meanwhile.
 *
 * @module
 */

import assert from "node:assert/strict";
import { untilCount, untilText, untilTexts } from "tests/support/page_waits.ts";
import type { Locator, Page } from "playwright-core";
import { findings } from "tests/support/axe.ts";
import { PHONE } from "tests/support/browser.ts";
import { SCENE_NOW } from "tests/support/page_scene.ts";
import { type RunningTurn, turnStories } from "tests/web/stories.ts";

const story = turnStories();

/** Makes a call that waits for approval. */
async function asks(of: RunningTurn, id: string, more: Readonly<Record<string, unknown>> = {}) {
  await of.agent.emit("approval_asked", {
    approval_id: id,
    mcp: "git",
    version: "2.1.0",
    tool: "git_push",
    origin: "direct",
    arguments: { remote: "origin", id },
    is_destructive: false,
    digest: `digest-${id}`,
    expires: SCENE_NOW + 12 * 60_000,
    ...more,
  }, { turnId: of.turnId });
}

/** The agent receives and applies the decision, as its dial unit does. */
async function takes(of: RunningTurn, state: string): Promise<Readonly<Record<string, unknown>>> {
  const frame = await of.agent.client.next("approval_decision");
  const { approval_id, decision, by, surface, reason } = frame;
  await of.agent.emit("approval_decided", { approval_id, decision, by, surface, reason });
  await of.agent.emit("approval_ended", { approval_id, state });
  return frame;
}

/** Folder that receives a picture of each width and theme. */
const PICTURES = Deno.env.get("FLEETCTL_PICTURES");
const SIZES = [
  { width: 390, height: 844 },
  { width: 768, height: 1024 },
  { width: 1440, height: 900 },
  { width: 2560, height: 1440 },
] as const;

const card = (page: Page) => page.locator(".approval-card");

story("a call that waits is shown with all its arguments, and approved", async (of) => {
  const { page } = of;
  await asks(of, "a1");
  await card(page).waitFor();
  for (const part of ["git_push", "git 2.1.0", '"remote": "origin"', "direct", "expires in"]) {
    await card(page).filter({ hasText: part }).waitFor();
  }
  await page.getByRole("button", { name: "Approve git_push" }).click();
  const frame = await takes(of, "applied");
  assert.deepEqual(
    [frame.approval_id, frame.decision, frame.digest, frame.by, frame.surface],
    ["a1", "approved", "digest-a1", "owner:ada@example.org", "page"],
  );
  await card(page).waitFor({ state: "detached" });
});

story("several prompts of one turn are one card, and a denial has a reason", async (of) => {
  const { page } = of;
  await asks(of, "a1");
  await asks(of, "a2", { tool: "git_tag" });
  await page.getByText("2 calls need your approval").waitFor();
  await untilCount(card(page), 1);
  const row = page.locator(".approval-row", { hasText: "git_tag" });
  await row.getByLabel("Reason for denying").fill("not today");
  await row.getByRole("button", { name: "Deny" }).click();
  const frame = await takes(of, "delivered");
  assert.deepEqual([frame.approval_id, frame.decision, frame.reason], [
    "a2",
    "denied",
    "not today",
  ]);
  await page.getByText("A call needs your approval").waitFor();
  await untilCount(page.locator(".approval-row"), 1);
});

story("a destructive call is approved by holding the button, by pointer or by key", async (of) => {
  const { page } = of;
  await asks(of, "a1", { is_destructive: true });
  const hold = page.getByRole("button", { name: "Hold to approve git_push" });
  await hold.waitFor();
  // A short click or key press has no effect.
  await hold.hover();
  await page.mouse.down();
  await page.mouse.up();
  await hold.focus();
  await page.keyboard.press("Enter");
  assert.equal(of.scene.requests.filter(({ path }) => path.endsWith("/decide")).length, 0);
  await page.keyboard.down("Enter");
  const frame = await takes(of, "applied");
  await page.keyboard.up("Enter");
  assert.equal(frame.decision, "approved");
  await card(page).waitFor({ state: "detached" });
});

story("a refused late decision is shown at its own call, and removed with it", async (of) => {
  const { page } = of;
  await asks(of, "a1");
  await asks(of, "a2", { tool: "git_tag" });
  await page.getByText("2 calls need your approval").waitFor();
  // Another person decides on a command line; this tab is not notified yet.
  await page.route("**/api/approvals?*", (route) => route.abort());
  await of.agent.emit("approval_decided", {
    approval_id: "a1",
    decision: "denied",
    by: "the operator",
    surface: "cli",
  });
  const row = page.locator(".approval-row", { hasText: "git_push" });
  await row.getByRole("button", { name: "Approve git_push" }).click();
  await row.getByText("it was already denied by the operator").waitFor();
  await untilCount(page.locator(".approval-fault"), 1);
  await page.unroute("**/api/approvals?*");
  await of.agent.emit("approval_ended", { approval_id: "a1", state: "delivered" });
  await page.getByText("A call needs your approval").waitFor();
  await untilCount(page.locator(".approval-fault"), 0);
});

story("a page that is opened later, or again, shows only the calls that wait", async (of) => {
  const { page } = of;
  await asks(of, "a1");
  await asks(of, "a2", { tool: "git_tag" });
  await of.agent.emit("approval_ended", { approval_id: "a2", state: "superseded" });
  await page.getByText("A call needs your approval").waitFor();
  await page.reload();
  await page.getByText("A call needs your approval").waitFor();
  await untilText(card(page), /git_push/);
});

/** An agent at its daily ceiling asks to spend more. */
const SPEND_MORE = {
  mcp: "",
  version: "fleetctl",
  tool: "spend_more",
  arguments: {
    period: "day",
    ceiling: "5.00 USD",
    spent: "5.02 USD",
    allow_more: "2.00 USD",
    owner_may_allow: "2.00 USD",
    until: "2026-07-28 00:00 UTC",
  },
};

/** Fills more than the height that the cards have on a phone. */
const LONG_ARGUMENTS = Object.fromEntries(
  Array.from({ length: 40 }, (_, line) => [`line_${line}`, "text"]),
);
const TARGET_PX = 44;

/** The card needs no scrolling, and a finger hits its buttons. */
async function isInReach(page: Page, spending: Locator): Promise<void> {
  const view = await page.locator(".approvals").boundingBox();
  assert.ok(view);
  for (const name of ["Do not allow", "Allow 2 USD more"]) {
    const box = await spending.getByRole("button", { name, exact: true }).boundingBox();
    assert.ok(box);
    assert.ok(box.height >= TARGET_PX, `${name} is ${box.height} px high`);
    const isVisible: boolean = box.y >= view.y && box.y + box.height <= view.y + view.height;
    assert.ok(isVisible, `${name} is out of view`);
  }
}

for (const viewport of SIZES) {
  const isTouch = viewport.width < 1000;
  story(`an agent at its ceiling has its own card, ${viewport.width} px wide`, async (of) => {
    const { page } = of;
    await asks(of, "a1", { arguments: LONG_ARGUMENTS });
    await asks(of, "s1", SPEND_MORE);
    const spending = page.getByRole("region", {
      name: "The daily ceiling of 5 USD is reached",
      exact: true,
    });
    for (
      const text of [
        "Spent this day: 5.02 USD.",
        "The owner may allow 2 USD more until 2026-07-28 00:00 UTC, and an operator any amount.",
        "Otherwise the turn ends, and the agent pauses until then.",
      ]
    ) await spending.filter({ hasText: text }).waitFor();
    await page.getByRole("heading", { name: "A call needs your approval", exact: true }).waitFor();
    if (isTouch) await isInReach(page, spending);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await findings(page), []);
      const picture = `${PICTURES}/spend-${viewport.width}-${colorScheme}.png`;
      if (PICTURES !== undefined) await page.screenshot({ path: picture });
    }
    await spending.getByRole("button", { name: "Allow 2 USD more", exact: true }).click();
    const frame = await takes(of, "applied");
    assert.deepEqual([frame.approval_id, frame.decision], ["s1", "approved"]);
    await spending.waitFor({ state: "detached" });
    await untilCount(card(page), 1);
  }, { viewport, hasTouch: isTouch, isMobile: isTouch });
}

story("a call that only resembles the card of a ceiling shows its arguments", async (of) => {
  await asks(of, "s1", { ...SPEND_MORE, arguments: { ...SPEND_MORE.arguments, note: "x" } });
  await card(of.page).filter({ hasText: '"note": "x"' }).waitFor();
  await of.page.getByRole("button", { name: "Approve spend_more" }).waitFor();
});

story("a waiting call is not shown as running until it is decided", async (of) => {
  const { page, agent, turnId } = of;
  await agent.call(turnId, { mcp: "git", tool: "git_push", arguments: {} });
  await page.locator(".tool", { hasText: "running" }).waitFor();
  await asks(of, "a1");
  await page.locator(".tool", { hasText: "needs approval" }).waitFor();
  await page.locator(".working", { hasText: "needs approval" }).waitFor();
  await card(page).getByRole("button", { name: /^Approve/ }).click();
  await takes(of, "applied");
  await page.locator(".tool", { hasText: "running" }).waitFor();
  await page.locator(".working", { hasText: "working" }).waitFor();
});

story("two waiting calls of one tool are decided separately", async (of) => {
  const { page, agent, turnId } = of;
  for (const id of ["a1", "a2"]) {
    await agent.call(turnId, { mcp: "git", tool: "git_push", arguments: { id, remote: "origin" } });
    await asks(of, id);
  }
  const rows = page.locator(".approval-row");
  const tools = page.locator(".tool-status");
  await rows.nth(1).waitFor();
  await untilTexts(tools, ["needs approval", "needs approval"]);
  await untilText(rows.nth(0), /git_push 1 of 2[^]*"id": "a1"/);
  await untilText(rows.nth(1), /git_push 2 of 2[^]*"id": "a2"/);
  await page.getByRole("button", { name: "Approve git_push 2 of 2", exact: true }).click();
  const { approval_id, digest, decision } = await takes(of, "applied");
  assert.deepEqual([approval_id, digest, decision], ["a2", "digest-a2", "approved"]);
  await page.locator(".tool-status", { hasText: "running" }).waitFor();
  await untilTexts(tools, ["needs approval", "running"]);
  // The call starts before its row is removed.
  await rows.nth(1).waitFor({ state: "detached" });
  await untilText(rows, /"id": "a1"/);
  await page.getByRole("button", { name: "Deny git_push", exact: true }).click();
  assert.equal((await takes(of, "applied")).approval_id, "a1");
  await rows.waitFor({ state: "detached" });
});

story("a call that expires says so, and is removed when the agent has denied it", async (of) => {
  const { page } = of;
  await asks(of, "a1");
  // An approval that expired before it arrived is not shown.
  await asks(of, "a2", { tool: "git_tag", expires: SCENE_NOW - 1_000 });
  await page.getByText("A call needs your approval").waitFor();
  await page.clock.setFixedTime(SCENE_NOW + 13 * 60_000);
  await page.locator(".approval-facts", { hasText: "expired" }).waitFor();
  await untilCount(page.locator(".approval-row"), 1);
  await of.agent.emit("approval_ended", { approval_id: "a1", state: "expired" });
  await card(page).waitFor({ state: "detached" });
});

story("the card is accessible, and its text is not interpreted", async (of) => {
  const { page } = of;
  await asks(of, "a1", {
    is_destructive: true,
    tool: "<img src=x onerror=alert(1)>",
    arguments: { text: "‮<script>alert(1)</script>\u001b[31m" },
  });
  await card(page).waitFor();
  assert.equal(await card(page).locator("img, script").count(), 0);
  await untilText(card(page), /⟨U\+202E⟩<script>/);
  assert.deepEqual(await findings(page), []);
}, { viewport: PHONE });
