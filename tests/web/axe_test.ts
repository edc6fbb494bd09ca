/**
 * Accessibility findings of every screen in every theme: none. Desktop and phone, light, dark, the
 * device's own colours, and 320 px, which is 400 % zoom of a usual screen.
 *
 * @module
 */

import { AxeBuilder } from "@axe-core/playwright";
import assert from "node:assert/strict";
import type { BrowserContextOptions, Page } from "playwright-core";
import { DESKTOP, openPage, PHONE, startBrowser } from "tests/support/browser.ts";
import { sceneOf, SCREENS } from "tests/support/page_screens.ts";

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  "light": { viewport: DESKTOP, colorScheme: "light" },
  "dark": { viewport: DESKTOP, colorScheme: "dark" },
  "forced colours": { viewport: DESKTOP, forcedColors: "active" },
  "phone, light": { viewport: PHONE, colorScheme: "light", hasTouch: true, isMobile: true },
  "phone, dark": { viewport: PHONE, colorScheme: "dark", hasTouch: true, isMobile: true },
  "320 px": { viewport: { width: 320, height: 640 }, colorScheme: "light" },
};

async function findings(page: Page): Promise<readonly string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`)
  );
}

/** Nothing may be wider than the window: what is cut off cannot be read. */
async function overflow(page: Page): Promise<unknown> {
  return await page.evaluate("document.documentElement.scrollWidth - innerWidth");
}

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
    await t.step("dialogs", async () => {
      await using scene = await sceneOf(SCREENS[5] as typeof SCREENS[number]);
      for (const colorScheme of ["light", "dark"] as const) {
        await using watched = await openPage(browser, { colorScheme });
        const { page } = watched;
        await page.goto(scene.url);
        await page.getByRole("button", { name: "connect a real model" }).click();
        await page.getByRole("dialog", { name: "Connect a real model" }).waitFor();
        assert.deepEqual(await findings(page), []);
        await page.keyboard.press("Escape");
        await page.getByRole("button", { name: "Help and keys" }).first().click();
        await page.getByRole("dialog", { name: "Help" }).waitFor();
        assert.deepEqual(await findings(page), []);
      }
    });
  } finally {
    await browser.close();
  }
});
