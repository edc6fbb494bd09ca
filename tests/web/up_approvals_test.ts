/**
 * Calls that wait for their owner against a real `./dev up`: the real login, gateway, agent,
 * runtime, proxy and git server. Calls are denied with a reason, approved by holding, decided on
 * the command line while the card is open, and withdrawn with the turn. Each call runs once or not
 * at all.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { openPage, startBrowser } from "tests/support/browser.ts";
import {
  makeRepository,
  makeRoot,
  runDev,
  runVerb,
  startUp,
  type UpProcess,
  workspaceRepository,
} from "tests/support/up_process.ts";

const OPEN = /^open (http:\/\/localhost:\d+) {2}user (\S+) {2}password (\S{20})$/;

let up: UpProcess;
let browser: Browser;
let repository = "";
let url = "";
let user = "";
let password = "";

Deno.test.beforeAll(async () => {
  const root = await makeRoot();
  repository = workspaceRepository(root);
  await makeRepository(repository, "first");
  up = startUp(root);
  [, url = "", user = "", password = ""] = OPEN.exec(await up.line(OPEN)) ?? [];
  await up.line(/^ready /);
  // A first turn starts the server, which may take long on a slow machine.
  await runDev(["up", "--root", root, "--turn", `last commit of ${repository}`]);
  browser = await startBrowser();
});
Deno.test.afterAll(async () => {
  await browser.close();
  await up.stop();
});

async function tags(): Promise<string> {
  const { stdout } = await new Deno.Command("git", { args: ["-C", repository, "tag"] }).output();
  return new TextDecoder().decode(stdout).trim().split("\n").join(" ");
}

const card = (page: Page) => page.locator(".approval-card");

/** Makes ada call git_tag; resolves when the card is shown. */
async function askFor(page: Page, tagName: string): Promise<void> {
  const composer = page.getByLabel("Message to ada");
  await composer.fill(
    `call git_tag ${JSON.stringify({ path: repository, mode: "create", tagName })}`,
  );
  await composer.press("Enter");
  await card(page).waitFor({ timeout: 60_000 });
  for (const part of ["git_tag", tagName, repository, "direct", "expires in"]) {
    await card(page).filter({ hasText: part }).waitFor();
  }
}

async function approve(page: Page): Promise<void> {
  const button = page.getByRole("button", { name: /^(Hold to approve|Approve) git_tag$/ });
  await button.hover();
  await page.mouse.down();
  await card(page).waitFor({ state: "detached", timeout: 60_000 });
  await page.mouse.up();
}

/** Waits for the end of the running turn; Send is there all the time. */
const idle = (page: Page) =>
  page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached", timeout: 60_000 });

Deno.test({
  name: "a person denies and approves calls in the page, and each is done once or not at all",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (t) => {
    await using watched = await openPage(browser, { isTimeReal: true });
    const { page } = watched;
    await page.goto(url);
    await page.getByLabel("E-mail address").fill(user);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByLabel("Message to ada").waitFor();
    const picture = Deno.env.get("FLEETCTL_PICTURES");

    await t.step("denied with a reason, which reaches the model", async () => {
      await askFor(page, "v1");
      if (picture !== undefined) await page.screenshot({ path: `${picture}/asked.png` });
      await card(page).getByLabel("Reason for denying").fill("not on a Friday");
      await card(page).getByRole("button", { name: "Deny" }).click();
      await page.locator(".answer", { hasText: "not on a Friday" }).last().waitFor();
      await card(page).waitFor({ state: "detached" });
      assert.equal(await tags(), "");
      if (picture !== undefined) await page.screenshot({ path: `${picture}/denied.png` });
    });
    await t.step("approved, and made once", async () => {
      await idle(page);
      await askFor(page, "v2");
      await approve(page);
      await idle(page);
      assert.equal(await tags(), "v2");
      if (picture !== undefined) await page.screenshot({ path: `${picture}/approved.png` });
    });
    await t.step("decided on the command line while the card is open", async () => {
      await askFor(page, "v3");
      const listed = JSON.parse((await runVerb(up.root, ["approvals", "list", "--json"])).stdout);
      const [{ id }] = listed.approvals;
      assert.equal((await runVerb(up.root, ["approvals", "approve", id])).code, 0);
      await card(page).waitFor({ state: "detached", timeout: 60_000 });
      await idle(page);
      assert.equal(await tags(), "v2 v3");
    });
    await t.step("withdrawn with its turn; a reload shows no closed call", async () => {
      await askFor(page, "v4");
      await page.reload();
      await card(page).waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await card(page).waitFor({ state: "detached", timeout: 60_000 });
      await page.reload();
      await page.getByLabel("Message to ada").waitFor();
      await idle(page);
      assert.equal(await card(page).count(), 0);
      assert.equal(await tags(), "v2 v3");
    });
    await t.step("the calls that were made are in the agent's log, without values", async () => {
      const { stdout } = await runVerb(up.root, ["logs", "agent:ada", "--lines", "2000"]);
      const made = stdout.split("\n").filter((line) =>
        /\bcall\b/.test(line) && /git_tag/.test(line)
      );
      assert.equal(made.length, 2, stdout.slice(-4_000));
      assert.ok(made.every((line) => /path,mode,tagName/.test(line)), made.join("\n"));
      assert.ok(!made.some((line) => line.includes("v2") || line.includes(repository)));
    });
    assert.deepEqual(watched.faults, []);
  },
});
