/**
 * Waiting for what a test of the page asserts. A page draws when it gets to it: what is read once,
 * right after something else was seen, may be what was there a frame before.
 *
 * @module
 */

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Locator, Page } from "playwright-core";

/** Frames that a page may take; on a busy machine a frame takes longer, and the wait with it. */
const FRAMES_MAX = 1_200;
const NEXT_FRAME = "new Promise((drawn) => requestAnimationFrame(drawn))";

/** Reads, once a frame, until the value is the one that is wanted. */
export async function untilEqual<T>(page: Page, read: () => Promise<T>, wanted: T): Promise<void> {
  let found = await read();
  for (let frame = 0; frame < FRAMES_MAX && !isDeepStrictEqual(found, wanted); frame++) {
    await page.evaluate(NEXT_FRAME);
    found = await read();
  }
  assert.deepEqual(found, wanted);
}

/** Waits until something is there so many times. */
export async function untilCount(place: Locator, count: number): Promise<void> {
  await untilEqual(place.page(), () => place.count(), count);
}

/** Waits until a field holds a text. */
export async function untilValue(field: Locator, text: string): Promise<void> {
  await untilEqual(field.page(), () => field.inputValue(), text);
}

/** Waits until an expression of the page has a value: where the focus is, how wide something is. */
export async function untilPage(page: Page, expression: string, wanted: unknown): Promise<void> {
  await untilEqual(page, () => page.evaluate(expression), wanted);
}

/** Waits until the text of a place fits a pattern. */
export async function untilText(place: Locator, pattern: RegExp): Promise<void> {
  let text = await place.innerText();
  for (let frame = 0; frame < FRAMES_MAX && !pattern.test(text); frame++) {
    await place.page().evaluate(NEXT_FRAME);
    text = await place.innerText();
  }
  assert.match(text, pattern);
}

/** Waits until the texts of all such places are these, in this order. */
export async function untilTexts(places: Locator, texts: readonly string[]): Promise<void> {
  await untilEqual(places.page(), () => places.allInnerTexts(), [...texts]);
}
