/**
 * The hosts page, in Chromium against a real gateway; scripted hosts speak the real protocol.
 * Viewing, applying, restarting, and the state of a job when its host, the network or the gateway
 * disappears during it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { untilCount, untilEqual, untilPage } from "tests/support/page_waits.ts";
import type { Locator, Page } from "playwright-core";
import { PHONE } from "tests/support/browser.ts";
import { APPLIED_PARTLY, ILL, playHosts, WELL } from "tests/support/hosts_story.ts";
import { startScene } from "tests/support/page_scene.ts";
import { playFleet } from "tests/support/page_story.ts";
import type { ScriptedHost } from "tests/support/scripted_host.ts";
import { browserOfFile, pageStories, storiesIn } from "tests/web/stories.ts";

const ADA = "ada@example.org";

const browser = browserOfFile();

interface Hosts {
  readonly forge: ScriptedHost;
  readonly boreas: ScriptedHost;
}

/** The hosts of the story, as seen by the given person. */
const begin = async (email: string | undefined) => {
  const scene = await startScene(email);
  await playFleet(scene);
  return { scene, ...await playHosts(scene) };
};

const story = storiesIn<Hosts>(browser, begin, async ({ scene, page }) => {
  await page.goto(`${scene.url}/hosts`);
  await card(page, "forge").getByText("No problems").waitFor();
});
/** The same hosts, without opening the page. */
const hostsStory = storiesIn<Hosts>(browser, begin);
const pageStory = pageStories(browser);

const card = (page: Page, host: string): Locator => page.getByRole("article", { name: host });
const spoken = (page: Page) => page.getByRole("status");

async function apply(page: Page, host: string): Promise<void> {
  await page.getByRole("button", { name: `Apply on ${host}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

story(
  "each host shows whether it is connected, since when, and what is wrong",
  async ({ page }) => {
    await card(page, "boreas").getByText("2 problems").waitFor();
    await card(page, "boreas").getByText("(the gateway is 1.2.3)").waitFor();
    await card(page, "boreas").getByText("journalctl -u fleetctl-login.service -n 50").waitFor();
    await card(page, "cirrus").getByText("not connected, last seen just now").waitFor();
    await card(page, "zephyr").getByText("blocked: its keys are revoked").waitFor();
    await untilCount(card(page, "cirrus").getByRole("button"), 0);
    await page.getByText("2 of 4 connected").waitFor();
    await page.getByText("Units, agents and jobs of boreas").click();
    await card(page, "boreas").getByText("failed (exit code 1)", { exact: true }).waitFor();
    await page.getByRole("button", { name: "boreas", exact: true }).click();
    await untilPage(page, "document.activeElement.id", "host-boreas");
  },
);

story("an apply is requested, runs, and its end is shown with its changes", async (of) => {
  const { page, boreas, scene } = of;
  await page.getByRole("button", { name: "Apply on boreas" }).click();
  const dialog = page.getByRole("dialog", { name: "Apply on boreas?" });
  await dialog.getByText("brought in line with its ledger").waitFor();
  await untilPage(page, "document.activeElement.textContent", "Cancel");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal(scene.requests.filter(({ method }) => method === "POST").length, 0);
  await apply(page, "boreas");
  const job = await boreas.take();
  assert.deepEqual([job.job, job.by], ["apply", ADA]);
  await card(page, "boreas").getByText(`0 s · requested by ${ADA}`).waitFor();
  await page.getByRole("button", { name: /^Applying\s+on boreas/ }).click({ force: true });
  assert.equal(await page.getByRole("dialog").count(), 0, "one at a time");
  boreas.says(job, "[2/7] vendor \u001b[31mgit");
  await card(page, "boreas").getByText("[2/7] vendor git").waitFor();
  const isAgain = page.waitForRequest(/host\/status\?host=boreas/);
  boreas.done(job, APPLIED_PARTLY, 1);
  await card(page, "boreas").getByText("failed, exit code 1: 2 files changed, 1 unit restarted")
    .waitFor();
  await card(page, "boreas").getByText("WEBVIEW_BASIC_USERS is empty").waitFor();
  await isAgain;
  await spoken(page).getByText("apply on boreas: failed, exit code 1").waitFor({
    state: "attached",
  });
});

story("the keyboard alone leads to the hosts, through an apply, and back", async (of) => {
  const { page, forge, scene } = of;
  await page.goto(scene.url);
  await page.getByText("Hello, I am Ada.").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await page.getByRole("heading", { name: "Hosts" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/hosts");
  assert.equal(await page.title(), "Hosts · fleetctl");
  const button = page.getByRole("button", { name: /^Apply(ing)?\s+on forge/ });
  await button.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const job = await forge.take();
  const hasFocus = () => button.evaluate((own) => own === own.ownerDocument.activeElement);
  await untilEqual(page, hasFocus, true);
  forge.done(job, { files: [{ path: "/a", change: "unchanged" }], units: [], faults: [] });
  await card(page, "forge").getByText("no changes needed").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("hosts");
  await page.getByRole("option", { name: "Hosts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.goBack();
  await page.getByText("Hello, I am Ada.").waitFor();
});

story("an agent is restarted on its host, and working agents are named before", async (of) => {
  const { scene, page, forge } = of;
  const ada = await scene.agent("ada");
  await ada.state("working");
  await page.getByText("Units, agents and jobs of forge").click();
  await card(page, "forge").getByText("working").waitFor();
  await page.getByRole("button", { name: "Restart ada" }).click();
  await page.getByText("ada is working on a turn. A restart ends it.").waitFor();
  await page.getByRole("button", { name: "Restart", exact: true }).click();
  const job = await forge.take();
  assert.deepEqual([job.job, job.agent], ["restart", "ada"]);
  await page.getByRole("button", { name: /^Restarting\s+ada/ }).waitFor();
  forge.failed(job, "agent-stopped", 'Cannot restart agent "ada": it was stopped on purpose');
  await card(page, "forge").getByText("it was stopped on purpose").waitFor();
  await card(page, "forge").getByText("restart of ada not run").waitFor();
});

story(
  "a host that disconnects during a job is shown as such, and returns",
  async (of) => {
    const { scene, page, forge } = of;
    await apply(page, "forge");
    await forge.take();
    await card(page, "forge").locator(".is-running").waitFor();
    await forge.vanish();
    await card(page, "forge").getByText("result unknown").waitFor();
    await card(page, "forge").getByText("the job may still be running there").waitFor();
    await card(page, "forge").getByText("fleetctl audit list --caller host").waitFor();
    await page.getByText("1 of 4 connected").waitFor();
    await spoken(page).getByText("apply on forge: result unknown").waitFor({ state: "attached" });
    const again = await scene.host("forge");
    again.answerLooks(ILL);
    await card(page, "forge").getByText("2 problems").waitFor();
  },
);

story("a busy or absent host refuses, and the page shows the reason", async (of) => {
  const { page, boreas } = of;
  await page.getByRole("button", { name: "Apply on boreas" }).click();
  await page.getByRole("dialog").waitFor();
  await boreas.vanish();
  await page.getByText("1 of 4 connected").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Apply", exact: true }).click();
  await card(page, "boreas").getByRole("alert").getByText("it is not connected")
    .waitFor();
});

story("two tabs show one job, and the second cannot start it again", async (of) => {
  const { scene, page, watched, forge } = of;
  const other = await watched.context.newPage();
  await other.goto(`${scene.url}/hosts`);
  await card(other, "forge").getByText("No problems").waitFor();
  await other.getByRole("button", { name: "Apply on forge" }).click();
  await apply(page, "forge");
  const job = await forge.take();
  await card(other, "forge").locator(".is-running").waitFor();
  await other.getByRole("dialog").getByRole("button", { name: "Apply", exact: true }).click();
  await card(other, "forge").getByText(`apply is already running there, requested by ${ADA}`)
    .waitFor();
  await page.close();
  forge.done(job, APPLIED_PARTLY, 0);
  await card(other, "forge").getByText("2 files changed, 1 unit restarted").waitFor();
});

story(
  "the network fails during a job, and the page shows the job's end afterwards",
  async (of) => {
    const { scene, page, forge } = of;
    await apply(page, "forge");
    const job = await forge.take();
    await card(page, "forge").locator(".is-running").waitFor();
    scene.network.refuse(true);
    scene.network.cut();
    await page.getByText(/No connection|Reconnecting/).waitFor();
    forge.done(job, APPLIED_PARTLY, 0);
    await card(page, "forge").locator(".is-running").waitFor();
    await page.getByRole("button", { name: "Check forge" }).click();
    await card(page, "forge").getByText("The gateway did not answer").waitFor();
    scene.network.refuse(false);
    await page.getByRole("button", { name: "Retry now" }).click();
    await card(page, "forge").getByText("2 files changed").waitFor();
  },
);

story(
  "apply to all asks once, skips absent hosts, and shows each host's outcome",
  async (of) => {
    const { page, forge, boreas } = of;
    await page.getByRole("button", { name: "Apply to all…" }).click();
    const dialog = page.getByRole("dialog", { name: "Apply on 2 hosts?" });
    await dialog.getByText("Not connected, and left as they are: cirrus, zephyr.").waitFor();
    await dialog.getByRole("button", { name: "Apply", exact: true }).click();
    forge.done(await forge.take(), APPLIED_PARTLY, 0);
    await card(page, "forge").locator(".is-good").waitFor();
    await card(page, "boreas").locator(".is-running").waitFor();
    boreas.failed(await boreas.take(), "daemon-busy", "the daemon has no room");
    await card(page, "boreas").getByText("the daemon has no room").waitFor();
  },
);

story("what a host reports is plain text, on a phone too, and fits the screen", async (of) => {
  const { page, boreas } = of;
  const evil = `<img src=x onerror=alert(1)>\u202e${"x".repeat(4_000)}`;
  boreas.answerLooks({
    roles: [{ role: evil, state: evil, reason: evil }],
    agents: [{ name: evil, state: evil, reason: evil }],
    problems: [{ message: evil, details: [evil], hints: [evil, 7] }, 3, null],
  });
  await page.getByRole("button", { name: "Check boreas" }).click();
  await card(page, "boreas").getByText("3 problems").waitFor();
  await page.getByText("Units, agents and jobs of boreas").click();
  assert.equal(await page.locator("img").count(), 0);
  await untilPage(page, "document.documentElement.scrollWidth - innerWidth", 0);
  const inner = "Math.max(...[...document.querySelectorAll('.host-card')]" +
    ".map((one) => one.scrollWidth - one.clientWidth))";
  await untilPage(page, `${inner} <= 0`, true);
  boreas.answerLooks("no object at all");
  await page.getByRole("button", { name: "Check boreas" }).click();
  await card(page, "boreas").getByText("No problems").waitFor();
}, { viewport: PHONE, hasTouch: true, isMobile: true });

hostsStory(
  "a viewer who is not an admin sees no link to the hosts, and is refused there",
  async ({ scene, page }) => {
    await page.goto(scene.url);
    await page.getByLabel("Message to bob").waitFor();
    assert.equal(await page.getByRole("link", { name: "Hosts" }).count(), 0);
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("h");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Help" }).waitFor();
    assert.equal(await page.getByText("hosts of the fleet").count(), 0);
    await page.goto(`${scene.url}/hosts`);
    await page.getByText("Cannot show the hosts").waitFor();
    await page.getByText("only administrators may see the fleet").waitFor();
    await page.getByRole("link", { name: "bob" }).waitFor();
    assert.doesNotMatch(await page.content(), /forge</);
    assert.equal(await page.locator(".pill").count(), 0, "the rest continues");
    await page.getByRole("link", { name: "bob" }).click();
    await page.getByLabel("Message to bob").waitFor();
  },
  { email: "bob@example.org" },
);

pageStory(
  "without hosts the page shows the commands that add one; a new host appears at once",
  async ({ scene, page }) => {
    await page.goto(`${scene.url}/hosts`);
    await page.getByRole("heading", { name: "No hosts enrolled yet" }).waitFor();
    await page.getByText("fleetctl host set webview_gateway").waitFor();
    await page.getByText("fleetctl host key enroll HOST KEY").waitFor();
    await scene.keys.enroll("forge");
    const forge = await scene.host("forge");
    forge.answerLooks(WELL);
    await card(page, "forge").getByText("No problems").waitFor();
  },
);

pageStory(
  "a page that is older than its gateway reports it, and loses nothing",
  async ({ scene, page }) => {
    await playFleet(scene);
    await page.route(/assets\/hosts-/, (route) => route.fulfill({ status: 404 }), { times: 1 });
    await page.goto(scene.url);
    await page.getByRole("link", { name: "Hosts" }).click();
    await page.getByText("This part of the page did not load.").waitFor();
    await page.getByRole("link", { name: "Reload the page" }).click();
    await page.getByRole("heading", { name: "No hosts enrolled yet" }).waitFor();
  },
);
