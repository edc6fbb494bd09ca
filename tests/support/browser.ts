/**
 * Headless Chromium for page tests: one browser per file, a new profile for each test, and a record
 * of everything that a page must not do.
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

/** Window size for pictures. */
export const DESKTOP = { width: 1280, height: 800 } as const;
/** A phone with a touch screen. */
export const PHONE = { width: 390, height: 844 } as const;

/** Starts the browser; `more` are further command-line arguments. */
export async function startBrowser(more: readonly string[] = []): Promise<Browser> {
  const executablePath = await programPath("chromium", "chromium-browser", "google-chrome");
  if (executablePath === undefined) throw new Error("there is no Chromium");
  return await chromium.launch({
    executablePath,
    args: [...FLAGS, ...more],
    // Pictures must not depend on the fonts of the machine.
    env: { ...Deno.env.toObject(), FONTCONFIG_FILE: `${TREE}tests/support/fonts.conf` },
  });
}

/** A page and a record of what it did. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Addresses of all requests, without `data:`. */
  readonly requested: string[];
  /** Uncaught errors, refused loads and dialogs. None of these may occur. */
  readonly faults: string[];
}

/** Opens an empty page in a new profile. Its clock stands at the time of the scenes. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions & {
    /** Lets the page's clock run. */
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
    // The browser reports a lost connection as an error; some tests cause one on purpose.
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
