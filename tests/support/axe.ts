/**
 * Accessibility findings of a page, and the displays on which pages are checked: desktop and phone,
 * light, dark, the device's own colours, and 320 px wide (400 % zoom of a usual screen).
 *
 * @module
 */

import { AxeBuilder } from "@axe-core/playwright";
import type { BrowserContextOptions, Page } from "playwright-core";
import { DESKTOP, PHONE } from "tests/support/browser.ts";

/** The displays on which screens are checked. */
export const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  "light": { viewport: DESKTOP, colorScheme: "light" },
  "dark": { viewport: DESKTOP, colorScheme: "dark" },
  "forced colours": { viewport: DESKTOP, forcedColors: "active" },
  "phone, light": { viewport: PHONE, colorScheme: "light", hasTouch: true, isMobile: true },
  "phone, dark": { viewport: PHONE, colorScheme: "dark", hasTouch: true, isMobile: true },
  "320 px": { viewport: { width: 320, height: 640 }, colorScheme: "light" },
};

/** Returns the accessibility findings of a page, one line each. */
export async function findings(page: Page): Promise<readonly string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`)
  );
}

/**
 * Returns by how many pixels a page is wider than its window. Overflowing content cannot be read.
 */
export async function overflow(page: Page): Promise<unknown> {
  return await page.evaluate("document.documentElement.scrollWidth - innerWidth");
}
