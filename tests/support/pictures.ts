/**
 * Compares pictures of pages with those of `tests/web/references/`. After an intended change, run
 * the tests with FLEETCTL_GOLDEN=rewrite and check the new pictures. Pictures that differ are in
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
/**
 * The share of all pixels that may differ. Pictures are compared at half their size. Other browser
 * versions draw letter edges differently, which matters little at that size.
 */
const TOLERANCE = 0.01;
/**
 * The share of pixels that may differ in each square of 16 by 16. It finds a missing small sign.
 */
const TILE_TOLERANCE = 0.35;

/** Displays of every picture. */
export const PICTURE_LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  "desktop-light": { viewport: DESKTOP, colorScheme: "light" },
  "desktop-dark": { viewport: DESKTOP, colorScheme: "dark" },
  "phone-light": { viewport: PHONE, colorScheme: "light", hasTouch: true, isMobile: true },
  "phone-dark": { viewport: PHONE, colorScheme: "dark", hasTouch: true, isMobile: true },
};

/**
 * Returns which share of the pixels differs, in total and in the worst square. Both are 1 when the
 * sizes differ.
 */
export async function apart(
  page: Page,
  a: Uint8Array,
  b: Uint8Array,
): Promise<{ readonly all: number; readonly worstTile: number }> {
  const [one, other] = [a, b].map((bytes) => `data:image/png;base64,${bytes.toBase64()}`);
  return await page.evaluate(`(async () => {
    const read = async (address) => {
      const image = new Image();
      image.src = address;
      await image.decode();
      const [width, height] = [image.width >> 1, image.height >> 1];
      const context = new OffscreenCanvas(width, height).getContext("2d");
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, width, height);
      return { width, height, data: context.getImageData(0, 0, width, height).data };
    };
    const [one, other] = [await read("${one}"), await read("${other}")];
    if (one.width !== other.width || one.height !== other.height) return { all: 1, worstTile: 1 };
    const tiles = new Map();
    let all = 0;
    for (let at = 0; at < one.data.length; at += 4) {
      const apart = [0, 1, 2].map((c) => Math.abs(one.data[at + c] - other.data[at + c]));
      if (Math.max(...apart) <= 24) continue;
      all++;
      const [x, y] = [(at >> 2) % one.width, Math.floor((at >> 2) / one.width)];
      const tile = (x >> 3) + "," + (y >> 3);
      tiles.set(tile, (tiles.get(tile) ?? 0) + 1);
    }
    return {
      all: all / (one.width * one.height),
      worstTile: Math.max(0, ...tiles.values()) / 64,
    };
  })()`);
}

/** Compares a page with its reference picture; `blank` is a page in which to compare. */
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
  const { all, worstTile } = await apart(blank, wanted, picture);
  if (all <= TOLERANCE && worstTile <= TILE_TOLERANCE) return;
  await Deno.mkdir(ACTUAL, { recursive: true });
  await Deno.writeFile(`${ACTUAL}/${of.name}`, picture);
  const percent = (part: number) => `${(part * 100).toFixed(1)} %`;
  assert.fail(
    `${percent(all)} of the picture differ, ${percent(worstTile)} of its worst spot; ` +
      `see .cache/pictures/${of.name}`,
  );
}
