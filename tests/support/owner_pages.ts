/**
 * The pages of an agent's owner at a booted host: one in a wide window and one on a phone, both
 * signed in at the login proxy and never loaded again.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Browser, Locator, Page } from "playwright-core";
import { openPage, PHONE, type WatchedPage } from "tests/support/browser.ts";
import { untilCount, untilTexts } from "tests/support/page_waits.ts";

const WIDE = { width: 1440, height: 900 } as const;
/** Longer than a boot and the longest pause between two attempts of the page to connect. */
const BACK_MS_MAX = 60_000;

/** What the pages must show of an ended turn. */
export interface ShownTurn {
  readonly message: string;
  readonly answer: string;
  /** Names of its calls, in order. */
  readonly tools: readonly string[];
  /** Places of the calls whose outcome is unknown. */
  readonly unknown: readonly number[];
}

/** Both pages. */
export class OwnerPages implements AsyncDisposable {
  readonly #wide: WatchedPage;
  readonly #narrow: WatchedPage;

  private constructor(wide: WatchedPage, narrow: WatchedPage) {
    this.#wide = wide;
    this.#narrow = narrow;
  }

  /** Opens both and signs in. */
  static async open(browser: Browser, url: string, login: {
    readonly user: string;
    readonly password: string;
  }): Promise<OwnerPages> {
    const wide = await openPage(browser, { isTimeReal: true, viewport: WIDE });
    const narrow = await openPage(browser, { isTimeReal: true, viewport: PHONE, hasTouch: true });
    for (const { page } of [wide, narrow]) {
      // A phone shows the list of agents at `/`.
      await page.goto(`${url}/agents/ada`);
      await page.getByLabel("E-mail address").fill(login.user);
      await page.getByLabel("Password").fill(login.password);
      await page.getByRole("button", { name: "Log in" }).click();
      await composerOf(page).waitFor();
    }
    return new OwnerPages(wide, narrow);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#wide.context.close();
    await this.#narrow.context.close();
  }

  /** Sends a message from the wide page. */
  async send(text: string): Promise<void> {
    await composerOf(this.#wide.page).fill(text);
    await composerOf(this.#wide.page).press("Enter");
  }

  /** Waits until both show one card with one call of `tool`, and that the turn waits for it. */
  async untilCard(tool: string, given: string): Promise<void> {
    await this.#each(async (page) => {
      await untilOnline(page);
      await page.locator(".approval-row", { hasText: tool }).filter({ hasText: given })
        .waitFor({ timeout: BACK_MS_MAX });
      await untilCount(page.locator(".approval-row"), 1);
      await untilCount(page.locator(".working.is-waiting"), 1);
    });
  }

  /** Waits until both say `count` times that the turn continues. */
  async untilContinued(count: number): Promise<void> {
    await this.#each(async (page) => {
      const last = page.locator(".notice", { hasText: "The turn continues" }).nth(count - 1);
      await last.waitFor({ timeout: BACK_MS_MAX });
    });
  }

  /** Waits until both have lost their connection. */
  async untilCut(): Promise<void> {
    await this.#each((page) => pillOf(page).waitFor({ timeout: BACK_MS_MAX }));
  }

  /** Approves the open call in one page; the row shows the decision, or goes away. */
  async approve(tool: string, where: "wide" | "narrow"): Promise<void> {
    const page = this.#page(where);
    const button = page.getByRole("button", { name: new RegExp(`^(Hold to a|A)pprove ${tool}$`) });
    await button.hover();
    await page.mouse.down();
    await button.waitFor({ state: "detached" });
    await page.mouse.up();
  }

  /** Waits until one page shows a decision that the agent does not have. */
  async untilOnItsWay(where: "wide" | "narrow"): Promise<void> {
    await this.#page(where).getByText("Approved: on its way to the agent").waitFor();
  }

  /** Checks that both show the ended turn once, completely, and nothing that waits. */
  async checkEnd(turn: ShownTurn): Promise<void> {
    await this.#each(async (page) => {
      await page.locator(".prose", { hasText: turn.answer }).waitFor({ timeout: BACK_MS_MAX });
      await untilOnline(page);
      await untilTexts(page.locator(".ask-text"), [turn.message]);
      await untilTexts(page.locator(".prose"), [turn.answer]);
      for (const waits of [".working", ".approval-card", ".queue-row", ".tool-status.is-running"]) {
        await untilCount(page.locator(waits), 0);
      }
      for (const fold of await page.locator(".fold > summary").all()) await fold.click();
      const rows = page.locator("details.tool:not(.fold)");
      await untilTexts(rows.locator("> summary .tool-name"), turn.tools);
      const states = await rows.evaluateAll((all) => all.map((row) => row.className));
      const stopped = states.flatMap((name, at) => name.includes("is-stopped") ? [at] : []);
      assert.deepEqual(stopped, turn.unknown);
      const notices = page.locator(".notice", { hasText: "It is unknown whether" });
      await untilCount(notices, turn.unknown.length);
      await page.getByRole("button", { name: "Send" }).waitFor();
    });
    assert.deepEqual([...this.#wide.faults, ...this.#narrow.faults], []);
  }

  /** Takes pictures for a person, if the environment names a folder. */
  async picture(name: string): Promise<void> {
    const folder = Deno.env.get("FLEETCTL_PICTURES");
    if (folder === undefined) return;
    await this.#each((page) =>
      page.screenshot({ path: `${folder}/${name}-${page.viewportSize()?.width}.png` })
    );
  }

  #page(where: "wide" | "narrow"): Page {
    return where === "wide" ? this.#wide.page : this.#narrow.page;
  }

  async #each(work: (page: Page) => Promise<unknown>): Promise<void> {
    await Promise.all([this.#wide, this.#narrow].map(({ page }) => work(page)));
  }
}

const composerOf = (page: Page): Locator => page.getByLabel("Message to ada");
const pillOf = (page: Page): Locator => page.locator(".pill");

function untilOnline(page: Page): Promise<void> {
  return pillOf(page).waitFor({ state: "detached", timeout: BACK_MS_MAX });
}
