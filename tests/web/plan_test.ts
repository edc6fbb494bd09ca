/**
 * The todo list of a turn.
 *
 * @module
 */

import assert from "node:assert/strict";
import { findings } from "tests/support/axe.ts";
import { untilText } from "tests/support/page_waits.ts";
import { turnStories } from "tests/web/stories.ts";

const story = turnStories();

story("the todo list of a turn shows the last state", async ({ page, agent, turnId }) => {
  const plan = (...states: readonly string[]) => ({
    entries: states.map((state, n) => ({ text: `step ${n + 1} of the work`, state })),
  });
  await agent.emit("plan", plan("active", "pending", "pending"), { turnId });
  const list = page.getByRole("list", { name: "Todo list" });
  await untilText(list, /step 1 of the work\s+, in progress/);
  await agent.call(turnId, { tool: "bash", arguments: { command: "ls" }, result: "a" });
  await agent.emit("plan", plan("done", "active", "pending"), { turnId });
  await untilText(list, /step 1 of the work\s+, done[\s\S]*step 2 of the work\s+, in progress/);
  assert.equal(await list.count(), 1);
  const shots = Deno.env.get("FLEETCTL_SHOTS");
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 844 });
    if (shots !== undefined) await page.screenshot({ path: `${shots}/plan-${width}.png` });
  }
  assert.deepEqual(await findings(page), []);
});
