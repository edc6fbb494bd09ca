/**
 * Pictures of the screens, compared with those of `tests/web/references/`. After a wanted change, run
 * with FLEETCTL_GOLDEN=rewrite and look at the new pictures; what differs is left in .cache/pictures/.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { BrowserContextOptions, Page } from "playwright-core";
import { DESKTOP, openPage, PHONE, startBrowser } from "tests/support/browser.ts";
import { TREE } from "tests/support/module_graph.ts";
import { sceneOf, SCREENS } from "tests/support/page_screens.ts";

const REFERENCES = `${TREE}tests/web/references`;
const ACTUAL = `${TREE}.cache/pictures`;
/** Part of the pixels that may differ: edges of letters are drawn differently by other versions. */
const TOLERANCE = 0.01;

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  "desktop-light": { viewport: DESKTOP, colorScheme: "light" },
  "desktop-dark": { viewport: DESKTOP, colorScheme: "dark" },
  "phone-light": { viewport: PHONE, colorScheme: "light", hasTouch: true, isMobile: true },
  "phone-dark": { viewport: PHONE, colorScheme: "dark", hasTouch: true, isMobile: true },
};

/** Part of the pixels of two pictures that differ visibly; 1 when their sizes do. */
async function difference(page: Page, a: Uint8Array, b: Uint8Array): Promise<number> {
  const [one, other] = [a, b].map((bytes) => `data:image/png;base64,${bytes.toBase64()}`);
  return Number(
    await page.evaluate(`(async () => {
      const read = async (address) => {
        const image = new Image();
        image.src = address;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height);
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      };
      const [one, other] = [await read("${one}"), await read("${other}")];
      if (one.width !== other.width || one.height !== other.height) return 1;
      let differing = 0;
      for (let at = 0; at < one.data.length; at += 4) {
        const apart = [0, 1, 2].map((c) => Math.abs(one.data[at + c] - other.data[at + c]));
        if (Math.max(...apart) > 24) differing++;
      }
      return differing / (one.width * one.height);
    })()`),
  );
}

Deno.test("every screen looks as its reference", async (t) => {
  const isRewriting = Deno.env.get("FLEETCTL_GOLDEN") === "rewrite";
  const browser = await startBrowser();
  try {
    await using blank = await openPage(browser);
    for (const screen of SCREENS) {
      for (const [look, options] of Object.entries(LOOKS)) {
        const name = `${screen.name}-${look}.png`;
        await t.step(name, async () => {
          await using scene = await sceneOf(screen);
          await using watched = await openPage(browser, options);
          const { page } = watched;
          await screen.show(scene, page);
          const picture = await page.screenshot({
            animations: "disabled",
            // The time of the next try is never the same.
            mask: [page.locator(".pill-words")],
            maskColor: "#888888",
          });
          assert.deepEqual(watched.faults, []);
          if (isRewriting) {
            await Deno.mkdir(REFERENCES, { recursive: true });
            await Deno.writeFile(`${REFERENCES}/${name}`, picture);
            return;
          }
          const wanted = await Deno.readFile(`${REFERENCES}/${name}`);
          const part = await difference(blank.page, wanted, picture);
          if (part <= TOLERANCE) return;
          await Deno.mkdir(ACTUAL, { recursive: true });
          await Deno.writeFile(`${ACTUAL}/${name}`, picture);
          assert.fail(
            `${(part * 100).toFixed(1)} % of the pixels differ, see .cache/pictures/${name}`,
          );
        });
      }
    }
  } finally {
    await browser.close();
  }
});
