/**
 * The summary of earlier messages in the transcript: it opens to its text, and the owner changes
 * it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { findings } from "tests/support/axe.ts";
import { untilCount, untilText } from "tests/support/page_waits.ts";
import { turnStories } from "tests/web/stories.ts";

const story = turnStories();

const TEXT = "## Goals\n- Keep the tests green\n\n## Open work\n- Rename `store.ts`";

story("a summary opens to its text, and a change goes to the agent", async (of) => {
  const { page, agent, turnId } = of;
  await agent.emit("summary", { summary_id: "s1", text: TEXT, by: "model" }, { turnId });
  await agent.say(turnId, "It is done.", "m1");
  await agent.end(turnId);
  const row = page.locator("details", { hasText: "Earlier messages were summarised" });
  await row.locator("summary").click();
  await untilText(row.locator("pre"), /Keep the tests green/);
  const shots = Deno.env.get("FLEETCTL_SHOTS");
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 844 });
    if (shots !== undefined) await page.screenshot({ path: `${shots}/summary-${width}.png` });
  }
  await row.getByRole("button", { name: "Edit" }).click();
  const field = row.getByRole("textbox", { name: "Summary" });
  assert.ok(await row.getByRole("button", { name: "Save" }).isDisabled());
  await field.fill("## Goals\n- Ship it");
  if (shots !== undefined) await page.screenshot({ path: `${shots}/summary-edit.png` });
  assert.deepEqual(await findings(page), []);
  await row.getByRole("button", { name: "Save" }).click();
  const { text } = await agent.takeTurn();
  assert.equal(text, "/summary\n## Goals\n- Ship it");
});

story("a changed summary says so", async ({ page, agent, turnId }) => {
  await agent.emit("summary", { summary_id: "s2", text: TEXT, by: "owner" }, { turnId });
  await agent.end(turnId);
  await untilCount(page.locator("details", { hasText: "The summary was changed" }), 1);
});
