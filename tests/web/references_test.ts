/**
 * Pictures of the page's screens, compared with reference pictures.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openPage, startBrowser } from "tests/support/browser.ts";
import { sceneOf, SCREENS } from "tests/support/page_screens.ts";
import { comparePicture, PICTURE_LOOKS } from "tests/support/pictures.ts";

Deno.test("every screen looks as its reference", async (t) => {
  const browser = await startBrowser();
  try {
    await using blank = await openPage(browser);
    for (const screen of SCREENS) {
      for (const [look, options] of Object.entries(PICTURE_LOOKS)) {
        const name = `${screen.name}-${look}.png`;
        await t.step(name, async () => {
          await using scene = await sceneOf(screen);
          await using watched = await openPage(browser, options);
          const { page } = watched;
          await screen.show(scene, page);
          // The time of the next try varies, so it is masked.
          const mask = [page.locator(".pill-words")];
          await comparePicture(page, blank.page, { name, mask });
          assert.deepEqual(watched.faults, []);
        });
      }
    }
  } finally {
    await browser.close();
  }
});
