/**
 * Waits for what a page test asserts. A page draws asynchronously: a value read once, right after
 * another change, may be one frame old.
 *
 * @module
 */

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Locator, Page } from "playwright-core";

/**
 * Frames that a page may take. A busy machine draws frames more slowly, so the wait grows with it.
 */
const FRAMES_MAX = 1_200;
const NEXT_FRAME = "new Promise((drawn) => requestAnimationFrame(drawn))";

/** Reads once a frame until the value is the wanted one. */
export async function untilEqual<T>(page: Page, read: () => Promise<T>, wanted: T): Promise<void> {
  let found = await read();
  for (let frame = 0; frame < FRAMES_MAX && !isDeepStrictEqual(found, wanted); frame++) {
    await page.evaluate(NEXT_FRAME);
    found = await read();
  }
  assert.deepEqual(found, wanted);
}

/** Waits until a locator matches `count` elements. */
export async function untilCount(place: Locator, count: number): Promise<void> {
  await untilEqual(place.page(), () => place.count(), count);
}

/** Waits until a field contains a text. */
export async function untilValue(field: Locator, text: string): Promise<void> {
  await untilEqual(field.page(), () => field.inputValue(), text);
}

/** Waits until a page expression has a value, such as the focused element or a width. */
export async function untilPage(page: Page, expression: string, wanted: unknown): Promise<void> {
  await untilEqual(page, () => page.evaluate(expression), wanted);
}

/** Waits until the text of an element matches a pattern. */
export async function untilText(place: Locator, pattern: RegExp): Promise<void> {
  let text = await place.innerText();
  for (let frame = 0; frame < FRAMES_MAX && !pattern.test(text); frame++) {
    await place.page().evaluate(NEXT_FRAME);
    text = await place.innerText();
  }
  assert.match(text, pattern);
}

/** Waits until the texts of all matching elements are these, in this order. */
export async function untilTexts(places: Locator, texts: readonly string[]): Promise<void> {
  await untilEqual(places.page(), () => places.allInnerTexts(), [...texts]);
}
