/**
 * Stories of the page: a test each, with a scene and a page of its own, in one browser for the
 * whole file. Whatever a page did wrong, or asked of anybody but the gateway, fails its story.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { boundedWait } from "tests/support/bounded_wait.ts";
import { openPage, startBrowser, type WatchedPage } from "tests/support/browser.ts";
import { type PageScene, startScene } from "tests/support/page_scene.ts";

/** How the page of a story is opened, and who looks at it: ada's owner, unless said otherwise. */
export type StoryOptions = NonNullable<Parameters<typeof openPage>[1]> & {
  readonly email?: string;
};

/** What every story has in its hands. */
export interface Told {
  readonly scene: PageScene;
  readonly watched: WatchedPage;
  readonly page: Page;
}

/** The tests of this file share one browser; it is there once the first of them runs. */
export function browserOfFile(): () => Browser {
  let browser: Browser | undefined;
  Deno.test.beforeAll(async () => {
    browser = await startBrowser();
  });
  Deno.test.afterAll(async () => {
    await browser?.close();
  });
  return () => {
    assert.ok(browser !== undefined);
    return browser;
  };
}

/** Registers one story. */
export type Story<More> = (
  name: string,
  tell: (of: Told & More) => Promise<void>,
  options?: StoryOptions,
) => void;

/**
 * Makes the stories of a file: `begin` sets the scene, with whatever else is in the story's hands,
 * and `enter` brings the open page to where the story starts.
 */
export function storiesIn<More extends object>(
  browser: () => Browser,
  begin: (email: string | undefined) => Promise<More & { readonly scene: PageScene }>,
  enter: (of: Told & More) => Promise<void> = () => Promise.resolve(),
): Story<More> {
  return (name, tell, { email, ...options } = {}) => {
    Deno.test({
      name,
      sanitizeOps: false,
      sanitizeResources: false,
      fn: async () => {
        const begun = await begin(email);
        await using scene = begun.scene;
        await using watched = await openPage(browser(), options);
        const told = { ...begun, scene, watched, page: watched.page };
        await enter(told);
        await boundedWait(tell(told), () => "the story");
        assert.deepEqual(watched.faults, []);
        const foreign = watched.requested.filter((address) => !address.startsWith(scene.url));
        assert.deepEqual(foreign, []);
      },
    });
  };
}

/** Stories that begin with a scene and an empty page. */
export function pageStories(browser: () => Browser = browserOfFile()): Story<object> {
  return storiesIn(browser, async (email) => ({ scene: await startScene(email) }));
}

/** Where a message to ada is written. */
export const composer = (page: Page) => page.getByLabel("Message to ada");

/** Writes a message to ada and sends it. */
export async function send(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press("Enter");
}
