/**
 * Every screen in every theme has no accessibility findings: desktop and phone; light, dark and
 * device colours; and 320 px, which equals 400 % zoom of a common screen.
 *
 * @module
 */

import assert from "node:assert/strict";
import { findings, LOOKS, overflow } from "tests/support/axe.ts";
import { openPage, startBrowser } from "tests/support/browser.ts";
import { sceneOf, SCREENS } from "tests/support/page_screens.ts";

Deno.test("every screen has no accessibility findings in any theme", async (t) => {
  const browser = await startBrowser();
  try {
    for (const screen of SCREENS) {
      for (const [look, options] of Object.entries(LOOKS)) {
        await t.step(`${screen.name}, ${look}`, async () => {
          await using scene = await sceneOf(screen);
          await using watched = await openPage(browser, options);
          await screen.show(scene, watched.page);
          assert.deepEqual(await findings(watched.page), []);
          assert.equal(await overflow(watched.page), 0);
        });
      }
    }
    await t.step("help", async () => {
      const empty = SCREENS.find(({ name }) => name === "empty");
      assert.ok(empty);
      await using scene = await sceneOf(empty);
      for (const colorScheme of ["light", "dark"] as const) {
        await using watched = await openPage(browser, { colorScheme });
        const { page } = watched;
        await page.goto(scene.url);
        await page.getByRole("button", { name: "Help and keys" }).first().click();
        await page.getByRole("dialog", { name: "Help" }).waitFor();
        assert.deepEqual(await findings(page), []);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
        await page.keyboard.press("Control+k");
        await page.getByRole("dialog", { name: "Go to" }).waitFor();
        assert.deepEqual(await findings(page), []);
      }
    });
  } finally {
    await browser.close();
  }
});
