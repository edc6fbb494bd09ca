/**
 * A message that waits behind a running turn: "Send now" lets the turn read it.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { findings } from "tests/support/axe.ts";
import { untilCount, untilText } from "tests/support/page_waits.ts";
import type { PageScene, ScriptedAgent } from "tests/support/page_scene.ts";
import { pageStories, send } from "tests/web/stories.ts";

const story = pageStories();

/** Begins a turn of ada and opens the page. */
async function begin(
  { scene, page }: { readonly scene: PageScene; readonly page: Page },
  started?: { readonly steers: true },
) {
  const agent = await scene.agent("ada");
  await scene.ask("ada", "tidy up");
  const { turnId } = await agent.takeTurn(started);
  await page.goto(`${scene.url}/agents/ada`);
  await page.getByLabel("Message to ada").waitFor();
  return { agent, turnId };
}

/** Waits for the next turn and accepts it; it does not start. */
async function accept(agent: ScriptedAgent): Promise<string> {
  const { turn_id: turnId } = await agent.client.next("turn");
  agent.client.send({ type: "turn_accepted", turn_id: turnId });
  return String(turnId);
}

story("a waiting message is sent into the running turn", async (of) => {
  const { page } = of;
  const { agent, turnId } = await begin(of, { steers: true });
  await send(page, "only the tests, please");
  const waiting = await accept(agent);
  const under = page.locator(".ask-under").nth(1);
  await untilText(under, /queued/);
  const shots = Deno.env.get("FLEETCTL_SHOTS");
  if (shots !== undefined) await page.screenshot({ path: `${shots}/steer-queued.png` });
  assert.deepEqual(await findings(page), []);
  await page.getByRole("button", { name: "Send now" }).click();
  assert.equal((await agent.client.next("steer")).turn_id, waiting);
  await untilText(under, /will be read before the next step/);
  await agent.emit("turn_steered", { from: waiting, text: "only the tests, please" }, { turnId });
  await agent.emit("turn_ended", { outcome: "completed", code: "steered" }, { turnId: waiting });
  await untilText(under, /read by the running turn/);
  await untilText(page.locator(".steer"), /Message read: only the tests, please/);
  await agent.say(turnId, "Only the tests then.", "m1");
  await agent.end(turnId);
  await untilCount(page.locator(".working"), 0);
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 844 });
    if (shots !== undefined) await page.screenshot({ path: `${shots}/steer-${width}.png` });
  }
  assert.deepEqual(await findings(page), []);
});

story("a program that accepts no messages leaves the message queued", async (of) => {
  const { page } = of;
  const { agent } = await begin(of);
  await send(page, "and then the docs");
  await accept(agent);
  await untilText(page.locator(".ask-under").nth(1), /delivered/);
  assert.equal(await page.getByRole("button", { name: "Send now" }).count(), 0);
});
