/**
 * The page against a real `./dev up`, through the real login proxy and a bad network: log in, click
 * the first prompt, see a real commit, cut the network in mid-answer, kill the gateway, lose the
 * session and connect a model. Everything is shown once afterwards.
 *
 * @module
 */

import assert from "node:assert/strict";
import { untilCount, untilValue } from "tests/support/page_waits.ts";
import type { Browser, Page } from "playwright-core";
import { openPage, startBrowser } from "tests/support/browser.ts";
import { type ChaosProxy, startChaosProxy } from "tests/support/chaos_proxy.ts";
import { type ModelReply, type ModelRequest, startFakeModel } from "tests/fakes/model_endpoint.ts";
import { TREE } from "tests/support/module_graph.ts";
import { processesOf } from "tests/support/processes_of.ts";
import { makeRoot, startUp, type UpProcess } from "tests/support/up_process.ts";
import { composer, send } from "tests/web/stories.ts";

const OPEN = /^open http:\/\/localhost:(\d+) {2}user (\S+) {2}password (\S{20})$/;

let up: UpProcess;
let network: ChaosProxy;
let browser: Browser;
let url = "";
let user = "";
let password = "";

Deno.test.beforeAll(async () => {
  up = startUp(await makeRoot());
  const [, port, ...account] = OPEN.exec(await up.line(OPEN)) ?? [];
  await up.line(/^ready /);
  [user = "", password = ""] = account;
  network = startChaosProxy(Number(port));
  url = `http://localhost:${network.port}`;
  browser = await startBrowser();
});
Deno.test.afterAll(async () => {
  await browser.close();
  await network.close();
  await up.stop();
});

async function logIn(page: Page, typed = password): Promise<void> {
  await page.getByLabel("E-mail address").fill(user);
  await page.getByLabel("Password").fill(typed);
  await page.getByRole("button", { name: "Log in" }).click();
}

const article = (page: Page, text: string) => page.locator("article", { hasText: text });

/** Subjects of this project's newest commits: a commit may be made while the test runs. */
async function lastCommits(): Promise<readonly string[]> {
  const output = await new Deno.Command("git", {
    args: ["-C", TREE, "log", "-3", "--format=%s"],
  }).output();
  return new TextDecoder().decode(output.stdout).trim().split("\n");
}

function story(name: string, fn: (page: Page) => Promise<void>): void {
  Deno.test({
    name,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      await using watched = await openPage(browser, { isTimeReal: true });
      await watched.page.goto(url);
      await fn(watched.page);
      assert.deepEqual(watched.faults, []);
      const foreign = watched.requested.filter((address) => !address.startsWith(url));
      assert.deepEqual(foreign, []);
    },
  });
}

story(
  "after a login the first prompt shows a real commit; cuts and kills lose nothing",
  async (page) => {
    await logIn(page, "not the password");
    await page.getByRole("alert").waitFor();
    await logIn(page);
    await page.getByText("Hello, I am Ada.").waitFor();
    await page.getByRole("button", { name: "last commit of this project" }).click();
    // The answer arrives in pieces: wait for a whole subject, not for its first words.
    const subjects = (await lastCommits()).map((subject) => RegExp.escape(subject)).join("|");
    await page.locator(".prose", { hasText: new RegExp(`^The last commit of[^]*(${subjects})`) })
      .waitFor();
    await page.locator("summary", { hasText: "git_log" }).click();
    await page.locator(".tool-detail pre", { hasText: "maxCount" }).waitFor();

    await send(page, "what can you do");
    await article(page, "what can you do").waitFor();
    network.cut();
    await page.locator(".prose", { hasText: "looks it up through the git MCP" }).waitFor();

    const gateway = (await processesOf(up.root)).find((line) => line.includes("gateway/main.ts"));
    assert.ok(gateway, "the gateway runs");
    Deno.kill(Number(gateway.split(" ")[0]), "SIGKILL");
    await send(page, "once more: what can you do");
    const third = article(page, "once more").locator(".prose").first();
    await third.waitFor({ timeout: 60_000 });
    await page.reload();
    await third.waitFor();
    await untilCount(page.locator(".ask"), 3);
  },
);

story(
  "an ended session is shown, and the typed text is sent after signing in",
  async (page) => {
    await logIn(page);
    await composer(page).waitFor();
    await page.locator(".agent-row").first().waitFor();
    // Log out in another tab of the same browser.
    const other = await page.context().newPage();
    await other.goto(url);
    await other.getByText(user).waitFor();
    await other.getByRole("link", { name: "Log out" }).click();
    await other.getByLabel("Password").waitFor();
    await page.locator(".pill", { hasText: "You are signed out" }).waitFor({ timeout: 60_000 });
    await send(page, "written while signed out");
    await page.getByText("queued until the connection returns").waitFor();
    await composer(page).fill("half a thou");
    await page.getByRole("link", { name: "Sign in" }).click();
    await logIn(page);
    await article(page, "written while signed out").waitFor();
    await untilValue(composer(page), "half a thou");
    await page.locator(".queue-row").waitFor({ state: "detached" });
    await untilCount(article(page, "written while signed out"), 1);
  },
);

story(
  "a real model is connected in the page, answers, and its key is nowhere to be read",
  async (page) => {
    const key = "test-key-of-the-page-0123456789";
    const endpoint = await startFakeModel();
    const judge = (request: ModelRequest): ModelReply => {
      endpoint.script(judge);
      if (request.headers.get("authorization") !== `Bearer ${key}`) return status(401, {});
      return request.path.endsWith("/models")
        ? status(200, { data: [{ id: "big-1" }] })
        : { kind: "answer", text: "I am the endpoint of the test." };
    };
    endpoint.script(judge);
    try {
      await logIn(page);
      await page.getByRole("button", { name: "Model of ada" }).click();
      await page.getByRole("radio", { name: "Another endpoint" }).click();
      await page.getByLabel("Address").fill(endpoint.baseUrl);
      await page.getByLabel("Model", { exact: true }).fill("big-1");
      await page.getByLabel("Key", { exact: true }).fill("a-wrong-key");
      await page.getByRole("button", { name: "Test and connect" }).click();
      await page.getByText("The key is not accepted").waitFor();
      await page.getByLabel("Key", { exact: true }).fill(key);
      await page.getByLabel("Key", { exact: true }).press("Enter");
      await page.getByText(`ada now uses big-1 at ${endpoint.baseUrl}.`).waitFor({
        timeout: 60_000,
      });
      await page.getByRole("button", { name: "Done" }).click();
      await send(page, "who are you?");
      const answer = page.locator(".prose", { hasText: "I am the endpoint of the test." });
      await answer.waitFor({ timeout: 60_000 });
      const cookies = JSON.stringify(await page.context().cookies());
      assert.ok(!(await page.content()).includes(key) && !cookies.includes(key));
      for (const line of await processesOf(up.root)) assert.ok(!line.includes(key), line);
      assert.ok(!up.text().includes(key));
      const logs = await new Deno.Command("grep", {
        args: ["-rlF", "--exclude-dir=.cache", key, up.root],
      }).output();
      const found = new TextDecoder().decode(logs.stdout).trim().split("\n")
        .map((path) => path.slice(up.root.length));
      assert.deepEqual(found, ["/etc/fleetctl/env/agent-ada.env"]);
    } finally {
      await endpoint.close();
    }
  },
);

function status(value: number, body: unknown): ModelReply {
  return { kind: "status", status: value, body };
}
