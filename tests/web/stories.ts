/**
 * Stories of the page: each is a test with its own scene and page, in one browser for the whole
 * file. A story fails on any error in the page, and on any request to an address other than the
 * gateway's.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { boundedWait } from "tests/support/bounded_wait.ts";
import { openPage, startBrowser, type WatchedPage } from "tests/support/browser.ts";
import { type PageScene, type ScriptedAgent, startScene } from "tests/support/page_scene.ts";

/** How the page of a story is opened, and by whom: ada's owner by default. */
export type StoryOptions = NonNullable<Parameters<typeof openPage>[1]> & {
  readonly email?: string;
};

/** The objects that every story receives. */
export interface StoryContext {
  readonly scene: PageScene;
  readonly watched: WatchedPage;
  readonly page: Page;
}

/** Returns the browser that the tests of this file share; it is started before the first test. */
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
  run: (of: StoryContext & More) => Promise<void>,
  options?: StoryOptions,
) => void;

/**
 * Returns a function that registers stories of a file. `begin` makes the scene and further objects
 * for the story, and `enter` brings the open page to the starting point.
 */
export function storiesIn<More extends object>(
  browser: () => Browser,
  begin: (email: string | undefined) => Promise<More & { readonly scene: PageScene }>,
  enter: (of: StoryContext & More) => Promise<void> = () => Promise.resolve(),
): Story<More> {
  return (name, run, { email, ...options } = {}) => {
    Deno.test({
      name,
      sanitizeOps: false,
      sanitizeResources: false,
      fn: async () => {
        const begun = await begin(email);
        await using scene = begun.scene;
        await using watched = await openPage(browser(), options);
        const context = { ...begun, scene, watched, page: watched.page };
        await enter(context);
        await boundedWait(run(context), () => "the story");
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

/** The input for a message to ada. */
export const composer = (page: Page) => page.getByLabel("Message to ada");

/** Writes a message to ada and sends it. */
export async function send(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press("Enter");
}

/** A running turn of ada. */
export interface RunningTurn {
  readonly agent: ScriptedAgent;
  readonly turnId: string;
}

/** Stories that begin with a running turn of ada and the page that shows it. */
export function turnStories(browser: () => Browser = browserOfFile()): Story<RunningTurn> {
  return storiesIn<RunningTurn>(browser, async (email) => {
    const scene = await startScene(email);
    const agent = await scene.agent("ada");
    await scene.ask("ada", "tidy up");
    const { turnId } = await agent.takeTurn();
    return { scene, agent, turnId };
  }, async ({ scene, page }) => {
    await page.goto(`${scene.url}/agents/ada`);
    await page.getByLabel("Message to ada").waitFor();
  });
}
