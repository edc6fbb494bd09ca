/**
 * Headless Chromium for tests of the page: one browser a file, a fresh profile for each test, and a
 * record of everything that a page must not do.
 *
 * @module
 */

import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";
import { programPath } from "tests/support/machine.ts";
import { TREE } from "tests/support/module_graph.ts";
import { SCENE_NOW } from "tests/support/page_scene.ts";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--font-render-hinting=none",
  "--force-color-profile=srgb",
  "--hide-scrollbars",
];

/** Screens of every picture. */
export const DESKTOP = { width: 1280, height: 800 } as const;
/** A phone with a touch screen. */
export const PHONE = { width: 390, height: 844 } as const;

/** Starts the browser. */
export async function startBrowser(more: readonly string[] = []): Promise<Browser> {
  const executablePath = await programPath("chromium", "chromium-browser", "google-chrome");
  if (executablePath === undefined) throw new Error("there is no Chromium");
  return await chromium.launch({
    executablePath,
    args: [...FLAGS, ...more],
    // The fonts of a machine must not decide what a picture looks like.
    env: { ...Deno.env.toObject(), FONTCONFIG_FILE: `${TREE}tests/support/fonts.conf` },
  });
}

/** A page and what it did. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Addresses of all requests, `data:` left out. */
  readonly requested: string[];
  /** Uncaught errors, refused loads, dialogs: nothing of it may happen. */
  readonly faults: string[];
}

/** Opens an empty page in a profile of its own; time stands where scenes are. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions & {
    /** Let time pass as it does. */
    readonly isTimeReal?: boolean;
  } = {},
): Promise<WatchedPage> {
  const { isTimeReal, ...given } = options;
  const context = await browser.newContext({
    viewport: DESKTOP,
    locale: "en-GB",
    timezoneId: "UTC",
    reducedMotion: "reduce",
    ...given,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  if (isTimeReal !== true) await page.clock.setFixedTime(SCENE_NOW);
  const requested: string[] = [];
  const faults: string[] = [];
  context.on("request", (request) => {
    if (!request.url().startsWith("data:")) requested.push(request.url());
  });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("popup", (popup) => faults.push(`popup: ${popup.url()}`));
  page.on("console", (message) => {
    // A lost connection is told by the browser as an error; that is what some tests are about.
    const isNetwork = /net::ERR_|Failed to load resource/.test(message.text());
    if (message.type() === "error" && !isNetwork) faults.push(`console: ${message.text()}`);
  });
  return {
    page,
    context,
    requested,
    faults,
    [Symbol.asyncDispose]: () => context.close(),
  };
}
