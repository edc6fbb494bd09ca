/**
 * The vendor's own local test client, in a real browser, against a real gateway in local mode: a
 * person's message reaches their agent, the answer grows in the page, and an approval is given
 * there. The client is the vendor's unmodified npm package.
 *
 * @module
 */

import assert from "node:assert/strict";
import { boundedWait } from "tests/support/bounded_wait.ts";
import { untilText } from "tests/support/page_waits.ts";
import type { Browser, Page } from "playwright-core";
import { openPage, startBrowser } from "tests/support/browser.ts";
import { startPlayground } from "tests/support/playground.ts";
import { createConnectorKit } from "tests/teamchat/connector/kit.ts";
import { BEA_OWNER, RESET_ASKED, type TestAgent } from "tests/teamchat/fixture.ts";
import { makeTeamchatRoot, startTeamchatProcess } from "tests/teamchat/gateway_process.ts";

const CHAT = "7f0e0a52-5d0f-4d9b-9d8e-2f8a5b1c3d4e";
const STRANGER = "00000000-0000-4000-8000-00000000beef";
/** Settings of cloud mode; without them the gateway runs in local mode. */
const CLOUD = ["TEAMS_APP_ID", "TEAMS_APP_PASSWORD", "TEAMS_APP_TENANT_ID", "TEAMS_CLOUD"];

interface Scene {
  readonly agent: TestAgent;
  readonly page: Page;
  say(text: string): Promise<void>;
}

/** What a person does in the client. */
interface Story {
  readonly name: string;
  readonly owner: string;
  readonly play: (scene: Scene) => Promise<void>;
}

/** Plays a story: a gateway, bea's agent, and the client of the story's owner in a browser. */
async function tell(browser: Browser, { owner, play }: Story): Promise<void> {
  const root = await makeTeamchatRoot(await createConnectorKit());
  const env = Object.fromEntries(Object.entries(root.env).filter(([key]) => !CLOUD.includes(key)));
  const gateway = await startTeamchatProcess(env);
  try {
    assert.equal(gateway.ready.mode, "local");
    const agent = await root.register(String(gateway.ready.register));
    const endpoint = `http://${gateway.ready.messages}/api/messages`;
    await using playground = await startPlayground(endpoint, { owner, chat: CHAT });
    await using watched = await openPage(browser, { isTimeReal: true });
    const { page } = watched;
    // Its page would otherwise fetch fonts from the vendor.
    await page.route((url) => url.hostname !== "127.0.0.1", (route) => route.abort());
    await page.goto(playground.url);
    const say = async (text: string) => {
      const box = page.getByRole("textbox").first();
      await box.click();
      await box.pressSequentially(text);
      await page.keyboard.press("Enter");
    };
    await boundedWait(play({ agent, page, say }), () => `a story; ${agent.frames.length} frames`);
    agent.connection.terminate();
    await agent.closed;
  } finally {
    await gateway.kill();
    await Deno.remove(root.root, { recursive: true });
  }
}

const STORIES: readonly Story[] = [
  { name: "its probe is answered, and an owner is welcomed", owner: BEA_OWNER, play: welcome },
  { name: "a message is answered, and the answer grows in the page", owner: BEA_OWNER, play: grow },
  {
    name: "the card of a call that asks is pressed in the page",
    owner: BEA_OWNER,
    play: approve,
  },
  {
    name: "a person without an agent is notified, and no agent gets the message",
    owner: STRANGER,
    play: refuse,
  },
];

async function welcome({ page }: Scene): Promise<void> {
  await page.getByText("Hello. I am your agent").first().waitFor();
  await untilText(page.locator("body"), /Connected\./);
  await untilText(page.locator("body"), /User Application installationUpdate 202/);
}

async function grow({ agent, page, say }: Scene): Promise<void> {
  await say("what is new?");
  const { turnId, text } = await agent.begin();
  assert.equal(text, "what is new?");
  agent.delta(turnId, "First words. ", 0);
  await page.getByText("First words.", { exact: true }).first().waitFor();
  agent.delta(turnId, "Then more. ", 13);
  await page.getByText("First words. Then more.", { exact: true }).first().waitFor();
  const whole = "First words. Then more. And an end.";
  agent.answer(turnId, whole);
  await page.getByText(whole, { exact: true }).first().waitFor();
  await page.getByText("AI generated").first().waitFor();
  const delivery = await agent.next("delivery");
  assert.deepEqual([delivery.turn_id, delivery.outcome], [turnId, "delivered"]);
  const inChat = page.getByText(whole, { exact: true });
  await say("and again");
  const second = await agent.begin();
  agent.answer(second.turnId, "at once");
  await page.getByText("at once", { exact: true }).first().waitFor();
  assert.equal((await agent.next("delivery")).outcome, "delivered");
  assert.ok(await inChat.count() >= 1, "the first answer stays");
}

async function approve({ agent, page, say }: Scene): Promise<void> {
  await say("delete it");
  const { turnId } = await agent.begin();
  agent.event("approval_asked", turnId, RESET_ASKED);
  await page.getByRole("button", { name: "Approve" }).click();
  const decision = await agent.next("approval_decision");
  assert.deepEqual(
    [decision.approval_id, decision.digest, decision.decision, decision.by],
    ["a1", "d1", "approved", BEA_OWNER],
  );
  agent.answer(turnId, "deleted");
  await page.getByText("deleted", { exact: true }).first().waitFor();
}

async function refuse({ agent, page, say }: Scene): Promise<void> {
  await say("is anybody there?");
  await page.getByText("There is no agent for you here").first().waitFor();
  assert.ok(!agent.frames.some(({ type }) => type === "turn"));
}

Deno.test("the vendor's local test client talks to an agent through the gateway", async (t) => {
  await using browser = await startBrowser();
  for (const story of STORIES) await t.step(story.name, () => tell(browser, story));
});
