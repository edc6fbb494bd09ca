/**
 * The page against a real `./dev up`: click the first prompt, see a real commit, cut the network in
 * mid-answer, kill the gateway, come back, and find everything once.
 *
 * @module
 */

import assert from "node:assert/strict";
import { attachCockpit } from "cli/up/attach.ts";
import { openHost } from "core/os/host.ts";
import { pathsUnder } from "core/paths.ts";
import { openPage, startBrowser } from "tests/support/browser.ts";
import { startChaosProxy } from "tests/support/chaos_proxy.ts";
import { TREE } from "tests/support/module_graph.ts";
import { startIdentityProxy } from "tests/support/page_scene.ts";
import { makeRoot, processesOf, startUp } from "tests/support/up_process.ts";

/** Subjects of this project's newest commits: one may be made while the test runs. */
async function lastCommits(): Promise<readonly string[]> {
  const output = await new Deno.Command("git", {
    args: ["-C", TREE, "log", "-3", "--format=%s"],
  }).output();
  return new TextDecoder().decode(output.stdout).trim().split("\n");
}

Deno.test({
  name: "the first prompt shows a real commit, and no cut or kill loses or doubles anything",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const root = await makeRoot();
    await using up = startUp(root);
    await up.line(/^ready /);
    const host = openHost({ log: { program: "web-test", level: "error" } });
    const client = await attachCockpit(host, pathsUnder(root), "owner@localhost");
    assert.ok(client.ok);
    const proxy = startIdentityProxy(client.value.base, { prove: client.value.proof });
    const network = startChaosProxy(proxy.port);
    const browser = await startBrowser();
    try {
      await using watched = await openPage(browser, { isTimeReal: true });
      const { page } = watched;
      await page.goto(`http://localhost:${network.port}`);
      await page.getByRole("button", { name: "last commit of this project" }).click();
      await page.locator(".prose", { hasText: /^The last commit of/ }).waitFor();
      const answer = await page.locator(".answer").innerText();
      assert.ok((await lastCommits()).some((subject) => answer.includes(subject)), answer);
      await page.locator("summary", { hasText: "git_log" }).click();
      await page.locator(".tool-detail pre", { hasText: "maxCount" }).waitFor();

      await page.getByLabel("Message to ada").fill("what can you do");
      await page.getByLabel("Message to ada").press("Enter");
      await page.locator(".ask", { hasText: "what can you do" }).waitFor();
      network.cut();
      await page.locator(".prose", { hasText: "looks it up through the git MCP" }).waitFor();

      const gateway = (await processesOf(root)).find((line) => line.includes("gateway/main.ts"));
      assert.ok(gateway, "the gateway runs");
      Deno.kill(Number(gateway.split(" ")[0]), "SIGKILL");
      await page.getByLabel("Message to ada").fill("once more: what can you do");
      await page.getByLabel("Message to ada").press("Enter");
      const third = page.locator("article", { hasText: "once more" });
      await third.locator(".prose").first().waitFor({ timeout: 60_000 });
      await page.reload();
      await third.locator(".prose").first().waitFor();
      assert.equal(await page.locator(".ask").count(), 3);
      assert.deepEqual(watched.faults, []);
    } finally {
      await browser.close();
      await network.close();
      await proxy.close();
    }
  },
});
