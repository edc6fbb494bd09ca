/**
 * Pictures of pages, compared with those of `tests/web/references/`. After a wanted change, run the
 * tests with FLEETCTL_GOLDEN=rewrite and look at the new pictures; what differs is left in
 * `.cache/pictures/`.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { DESKTOP, PHONE } from "tests/support/browser.ts";
import { TREE } from "tests/support/module_graph.ts";

const REFERENCES = `${TREE}tests/web/references`;
const ACTUAL = `${TREE}.cache/pictures`;
/** Part of the pixels that may differ: edges of letters are drawn differently by other versions. */
const TOLERANCE = 0.01;

/** Looks of every picture. */
export const PICTURE_LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
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

/** Compares a page with its reference; `blank` is a page to compare in. */
export async function comparePicture(
  page: Page,
  blank: Page,
  of: { readonly name: string; readonly mask?: readonly Locator[] },
): Promise<void> {
  const picture = await page.screenshot({
    animations: "disabled",
    mask: [...of.mask ?? []],
    maskColor: "#888888",
  });
  if (Deno.env.get("FLEETCTL_GOLDEN") === "rewrite") {
    await Deno.mkdir(REFERENCES, { recursive: true });
    await Deno.writeFile(`${REFERENCES}/${of.name}`, picture);
    return;
  }
  const wanted = await Deno.readFile(`${REFERENCES}/${of.name}`);
  const part = await difference(blank, wanted, picture);
  if (part <= TOLERANCE) return;
  await Deno.mkdir(ACTUAL, { recursive: true });
  await Deno.writeFile(`${ACTUAL}/${of.name}`, picture);
  assert.fail(`${(part * 100).toFixed(1)} % of the pixels differ, see .cache/pictures/${of.name}`);
}
